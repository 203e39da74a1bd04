//! What can go wrong in a native program, reported in four parts: what failed, where, how to fix it,
//! and the exit code. The class says who can prevent it:
//!
//! | class | exit | who can prevent it | does a retry help |
//! | --- | --- | --- | --- |
//! | usage | 2 | whoever wrote the job or the profile | no |
//! | precondition | 3 | whoever prepared the machine or the database | no |
//! | infrastructure | 4 | nobody in advance: kernel, server, network or file failed | perhaps |
//! | bug | 1 | we | no |
//! | interrupted | 130 | whoever sent the signal | yes |

use std::error::Error as StdError;

use stithy_wire::Failure;

/// Who can prevent an error, and so the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// A defect of the program.
    Bug,
    /// The job or the profile is wrong.
    Usage,
    /// Machine or database are not as the job needs them.
    Precondition,
    /// Kernel, server, network or file failed.
    Infrastructure,
    /// A signal asked to stop.
    Interrupted,
}

impl ErrorClass {
    /// The exit code of the program.
    pub fn exit(self) -> u8 {
        match self {
            ErrorClass::Bug => 1,
            ErrorClass::Usage => 2,
            ErrorClass::Precondition => 3,
            ErrorClass::Infrastructure => 4,
            ErrorClass::Interrupted => 130,
        }
    }
}

/// Why a job cannot be done or go on. Never holds a password.
#[derive(Debug, thiserror::Error)]
#[error("{problem} ({place}); {remedy}")]
pub struct ProgramError {
    /// Who can prevent it.
    pub class: ErrorClass,
    /// A short fixed word for programs, such as `no-loop-device` or `connect-refused`.
    pub code: &'static str,
    /// What failed.
    pub problem: String,
    /// Where: the key of a job or profile, a device, a file, a host, a table.
    pub place: String,
    /// How to fix it.
    pub remedy: String,
    /// The cause, where the system or another library told one.
    #[source]
    pub cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl ProgramError {
    /// An error without a cause of another library.
    pub fn new(
        class: ErrorClass,
        code: &'static str,
        problem: impl Into<String>,
        place: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        ProgramError {
            class,
            code,
            problem: problem.into(),
            place: place.into(),
            remedy: remedy.into(),
            cause: None,
        }
    }

    /// The job or the profile is wrong; `place` names the key.
    pub fn usage(
        code: &'static str,
        problem: impl Into<String>,
        place: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(ErrorClass::Usage, code, problem, place, remedy)
    }

    /// Machine or database are not as the job needs them.
    pub fn precondition(
        code: &'static str,
        problem: impl Into<String>,
        place: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(ErrorClass::Precondition, code, problem, place, remedy)
    }

    /// Kernel, server, network or file failed.
    pub fn infrastructure(
        code: &'static str,
        problem: impl Into<String>,
        place: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(ErrorClass::Infrastructure, code, problem, place, remedy)
    }

    /// A signal asked to stop.
    pub fn interrupted(place: impl Into<String>) -> Self {
        let problem = "stopped by a signal";
        let remedy = "start the job again";
        Self::new(
            ErrorClass::Interrupted,
            "interrupted",
            problem,
            place,
            remedy,
        )
    }

    /// A defect of the program.
    pub fn bug(problem: impl Into<String>, place: impl Into<String>) -> Self {
        let remedy = "report this with the job that led to it";
        Self::new(ErrorClass::Bug, "bug", problem, place, remedy)
    }

    /// The same error, keeping what caused it.
    pub fn caused_by(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.cause = Some(Box::new(cause));
        self
    }

    /// The exit code of the program.
    pub fn exit(&self) -> u8 {
        self.class.exit()
    }

    /// The error as messages tell it.
    pub fn to_failure(&self) -> Failure {
        Failure {
            code: self.code.to_string(),
            problem: self.problem.clone(),
            place: self.place.clone(),
            remedy: self.remedy.clone(),
            exit: self.exit(),
        }
    }
}
