"""What candidates cost, as a person states it: the section `cost`, and price lists of clouds.

`keys` is the section, `lists` finds price lists (`prices/` is shipped). What follows from the
numbers is `analysis.cost`.
"""
