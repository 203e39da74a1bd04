//! How a password is proven without being sent.
//!
//! Source: MySQL "Client/Server Protocol", "Native Authentication" and "Caching SHA-2"; what the server
//! asks for is named by the plug-in that its account has.

use ring::digest::{digest, Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// A plug-in of the server that can be answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    /// `mysql_native_password`, with SHA-1.
    Native,
    /// `caching_sha2_password`, with SHA-256.
    CachingSha2,
}

impl Plugin {
    /// None for others.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Plugin::Native),
            b"caching_sha2_password" => Some(Plugin::CachingSha2),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The proof of a password for the 20 random bytes that the server sent; empty where there is none.
    pub(super) fn prove(self, password: &str, random: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        let once = |algorithm, parts: &[&[u8]]| digest(algorithm, &parts.concat());
        let prove = |algorithm: &'static Algorithm, random_first: bool| {
            let hash = once(algorithm, &[password.as_bytes()]);
            let twice = once(algorithm, &[hash.as_ref()]);
            let mask = match random_first {
                true => once(algorithm, &[random, twice.as_ref()]),
                false => once(algorithm, &[twice.as_ref(), random]),
            };
            let bytes = hash.as_ref().iter().zip(mask.as_ref());
            bytes.map(|(hash, mask)| hash ^ mask).collect()
        };
        match self {
            Plugin::Native => prove(&SHA1_FOR_LEGACY_USE_ONLY, true),
            Plugin::CachingSha2 => prove(&SHA256, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(algorithm: &'static Algorithm, bytes: &[u8]) -> Vec<u8> {
        digest(algorithm, bytes).as_ref().to_vec()
    }

    /// The server keeps the hash of a hash: with it and the random bytes it finds the hash in the proof.
    #[test]
    fn a_proof_is_what_the_server_verifies() {
        let random: Vec<u8> = (1..=20).collect();
        for (plugin, algorithm) in [
            (Plugin::Native, &SHA1_FOR_LEGACY_USE_ONLY),
            (Plugin::CachingSha2, &SHA256),
        ] {
            let kept = hash(algorithm, &hash(algorithm, b"anvil"));
            let mask = match plugin {
                Plugin::Native => hash(algorithm, &[&random[..], &kept].concat()),
                Plugin::CachingSha2 => hash(algorithm, &[&kept[..], &random].concat()),
            };
            let proof = plugin.prove("anvil", &random);
            let shown: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
            assert_eq!(kept, hash(algorithm, &shown));
            assert!(plugin.prove("", &random).is_empty());
            assert_eq!(Some(plugin), Plugin::named(plugin.name().as_bytes()));
        }
    }
}
