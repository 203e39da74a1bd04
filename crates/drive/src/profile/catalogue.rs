//! The profiles that the program brings along. A new one is a file in `crates/drive/profiles/` and its name
//! here.

/// A profile as it is shipped.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../profiles/", $name, ".toml")),
        }),*]
    };
}

/// All of them, by name.
pub const CATALOGUE: &[Shipped] = shipped! {
    "dc1500m-960"
    "dc1500m-vsan"
    "dc500m-1920"
    "generic-15k"
    "generic-7200"
    "generic-nvme"
    "generic-sata"
    "gp3"
    "io2"
    "micron-5200-eco-1920"
    "micron-5200-vsan"
    "p4500-2000"
    "p4800x-375"
    "sas-15k-36"
    "x25-e-32"
};
