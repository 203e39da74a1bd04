"""Laboratory clusters of Ceph on this machine: hosts as network namespaces, real daemons."""
