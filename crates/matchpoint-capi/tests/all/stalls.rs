//! Tests that calls of the C interface pass arguments in registers, and that no load waits for stores. A
//! processor forwards a store to a later load only if the store wrote all bytes of the load. Otherwise the
//! load waits until the stores reach the cache, about 10 to 15 cycles.
//!
//! The tests read disassembled code in the order of addresses and follow no jump. A store and a load are
//! compared if both addresses use the same registers.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installed::{Installed, built, has, output, stdout};

/// Instructions after which a store is assumed to be in the cache.
const WINDOW: usize = 32;

/// Functions of `mp_calls` that an MPI library calls for each message.
const HOT: &str =
    "post_exact post arrive probe matched_probe take_receive queue_message queue_receive cancel retract";

/// Registers that a call may change.
const CLOBBERED: &str = "rax rcx rdx rsi rdi r8 r9 r10 r11";

/// The memory that `push` writes and `pop` reads.
const TOP: &str = "QWORD PTR [rsp]";

struct Function {
    address: String,
    name: String,
    /// In Intel's syntax: the destination is first.
    code: Vec<String>,
}

fn disassemble(file: &Path) -> Vec<Function> {
    let mut objdump = Command::new("objdump");
    let text = stdout(objdump.args(["-d", "-M", "intel", "--no-show-raw-insn"]).arg(file));
    let mut functions: Vec<Function> = Vec::new();
    for line in text.lines() {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            functions.push(Function { address: address.to_owned(), name: name.to_owned(), code: Vec::new() });
        } else if let (Some((_, code)), Some(function)) = (line.split_once('\t'), functions.last_mut()) {
            let code = code.split(['#', '<']).next().unwrap_or_default().trim();
            let is_padding = ["nop", "data16", "cs"].iter().any(|name| code.starts_with(name));
            function.code.extend((!is_padding).then(|| code.to_owned()));
        }
    }
    functions
}

/// The bytes from `first` up to `end`, as distances from the registers of `base`. For `rsp`, distances are
/// from the value of `rsp` at the start of the function.
#[derive(Clone)]
struct Access {
    base: String,
    first: i64,
    end: i64,
}

impl Access {
    fn parse(operand: &str, pushed: i64) -> Option<Access> {
        let (kind, address) = operand.strip_suffix(']')?.split_once(" PTR [")?;
        let kinds = ["BYTE", "WORD", "DWORD", "QWORD", "XMMWORD", "YMMWORD", "ZMMWORD"];
        let bytes = 1 << kinds.iter().position(|name| *name == kind)?;
        let (base, distance) = match address.rfind("0x") {
            Some(at) if address[..at].ends_with('-') => (&address[..at - 1], -number(&address[at..])?),
            Some(at) if at > 0 => (&address[..at - 1], number(&address[at..])?),
            _ => (address, 0),
        };
        let first = distance - if base == "rsp" { pushed } else { 0 };
        Some(Access { base: base.to_owned(), first, end: first + bytes })
    }

    fn overlaps(&self, other: &Access) -> bool {
        self.base == other.base && self.first < other.end && other.first < self.end && self.base != "rip"
    }
}

fn number(text: &str) -> Option<i64> {
    Some(u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()? as i64)
}

/// Returns the 64-bit register of which this register is a part.
fn whole_register(part: &str) -> String {
    if part.starts_with('r') && part[1..].starts_with(|next: char| next.is_ascii_digit()) {
        return part.trim_end_matches(['d', 'w', 'b']).to_owned();
    }
    let name = part.trim_start_matches(['r', 'e']);
    match (name.len(), name.strip_suffix(['l', 'h', 'x'])) {
        (2, Some(letter)) => format!("r{letter}x"),
        (3, Some(letters)) => format!("r{letters}"),
        _ => format!("r{name}"),
    }
}

/// Finds loads that wait for stores. Reads the instructions of a function in order.
#[derive(Default)]
struct StallFinder {
    /// For each store, the index of the instruction and the bytes.
    stores: Vec<(usize, Access)>,
    /// Bytes between the stack pointer now and at the start of the function.
    pushed: i64,
    stalls: Vec<String>,
}

impl StallFinder {
    fn load(&mut self, at: usize, code: &str, load: &Access) {
        let recent = self.stores.iter().rev().take_while(|(stored_at, _)| at - stored_at <= WINDOW);
        let newest = recent.map(|(_, store)| store).find(|store| store.overlaps(load));
        if newest.is_some_and(|store| load.first < store.first || store.end < load.end) {
            self.stalls.push(format!("`{code}` reads bytes that the newest overlapping store did not write"));
        }
    }

    fn forget(&mut self, register: &str) {
        let register = whole_register(register);
        self.stores.retain(|(_, store)| store.base.split(['+', '*']).all(|part| part != register));
    }

    fn read(&mut self, at: usize, code: &str) {
        let (name, operands) = code.split_once(' ').unwrap_or((code, ""));
        let operands: Vec<&str> = operands.trim().split(',').collect();
        let starts_with = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let only_writes = starts_with(&["mov", "vmov", "set"]);
        let only_reads =
            starts_with(&["cmp", "test", "bt", "push", "call", "j", "mul", "div", "ucomis", "prefetch"]);
        let accesses: Vec<_> = operands.iter().map(|operand| Access::parse(operand, self.pushed)).collect();
        for (operand, access) in accesses.iter().enumerate() {
            if let Some(load) = access.as_ref().filter(|_| operand > 0 || !only_writes) {
                self.load(at, code, load);
            }
        }
        match name {
            "push" => {
                self.pushed += 8;
                self.stores.extend(Access::parse(TOP, self.pushed).map(|top| (at, top)));
            }
            "pop" => {
                Access::parse(TOP, self.pushed).iter().for_each(|top| self.load(at, code, top));
                self.pushed -= 8;
            }
            "sub" if operands[0] == "rsp" => self.pushed += number(operands[1]).unwrap_or(0),
            "add" if operands[0] == "rsp" => self.pushed -= number(operands[1]).unwrap_or(0),
            "call" => CLOBBERED.split(' ').for_each(|register| self.forget(register)),
            "jmp" | "ret" | "leave" => self.stores.clear(),
            "mul" | "imul" | "div" | "idiv" | "cmpxchg" => {
                ["rax", "rdx"].iter().for_each(|register| self.forget(register))
            }
            "xchg" | "xadd" | "mulx" => self.forget(operands[1]),
            _ => {}
        }
        match &accesses[0] {
            Some(store) if !only_reads => self.stores.push((at, store.clone())),
            None if !only_reads && operands[0] != "rsp" => self.forget(operands[0]),
            _ => {}
        }
    }
}

/// Returns a text for each load that waits for stores.
fn find_stalls(function: &Function) -> Vec<String> {
    let mut finder = StallFinder::default();
    function.code.iter().enumerate().for_each(|(at, code)| finder.read(at, code));
    finder.stalls
}

/// Returns a text for each argument of the first call that is on the stack, or is an address of the stack.
fn find_stack_arguments(function: &Function) -> Vec<String> {
    let saved = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
    let mut is_prologue = true;
    let is_argument = |code: &&String| {
        let (name, operands) = code.split_once(' ').unwrap_or((code, ""));
        let (to, from) = operands.trim().split_once(',').unwrap_or((operands.trim(), ""));
        is_prologue &= ["push", "endbr64"].contains(&name);
        match name {
            // Some compilers align the stack first by a push of any register.
            "push" => !is_prologue && !saved.contains(&to),
            "lea" => from.contains("[rsp") || from.contains("[rbp"),
            _ => name.starts_with("mov") && (to.contains("[rsp") || from == "rsp" && to != "rbp"),
        }
    };
    let before =
        function.code.iter().take_while(|code| !code.starts_with("call") && !code.starts_with("jmp"));
    before.filter(is_argument).map(|code| format!("`{code}` passes an argument on the stack")).collect()
}

fn compile(compiler: &str, options: &[&str], source: &str, name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{source}-{name}"));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let mut command = Command::new(compiler);
    command.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror"]).arg("-I").arg(tests.join("../../include"));
    output(command.arg(tests.join(source)).args(options).arg("-o").arg(&program));
    program
}

/// Compiles a C source with each compiler at each level of optimization. Returns nothing without the tools.
fn compile_at_levels(source: &str) -> Vec<(String, Vec<Function>)> {
    let runs = |compiler: &&str| Command::new(compiler).arg("--version").output().is_ok();
    let has_tools = has("gcc") && has("objdump");
    let compilers = ["gcc", "clang"].into_iter().filter(|compiler| has_tools && runs(compiler));
    let names = compilers.flat_map(|compiler| ["-O0", "-O1", "-O2", "-O3"].map(|level| (compiler, level)));
    let object = |(compiler, level)| compile(compiler, &[level, "-c"], source, &format!("{compiler}{level}"));
    names
        .map(|(compiler, level)| (format!("{compiler} {level}"), disassemble(&object((compiler, level)))))
        .collect()
}

#[test]
fn hot_calls_pass_words_in_registers() {
    for (compiler, functions) in compile_at_levels("hot_calls.c") {
        for hot in HOT.split(' ') {
            let callers = functions.iter().filter(|function| function.name.starts_with(&format!("{hot}_")));
            assert!(callers.count() >= 3, "{compiler}: hot_calls.c lacks a caller of {hot}");
        }
        for function in &functions {
            let found = [find_stalls(function), find_stack_arguments(function)].concat();
            assert!(found.is_empty(), "{compiler}: {}: {found:?}\n{:#?}", function.name, function.code);
        }
    }
}

#[test]
fn slow_calls_are_found() {
    for (compiler, functions) in compile_at_levels("slow_calls.c") {
        let finders = [find_stalls, find_stack_arguments];
        for (start, find) in ["stall_", "stack_"].into_iter().zip(finders) {
            let slow: Vec<_> = functions.iter().filter(|function| function.name.starts_with(start)).collect();
            assert_eq!(slow.len(), 2);
            slow.iter().for_each(|function| {
                assert!(!find(function).is_empty(), "{compiler}: {}: {:#?}", function.name, function.code)
            });
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the library is not optimized: cargo test --release")]
fn hot_functions_of_hybrid_have_no_stalls() {
    if !has("gcc") || !has("objdump") {
        return;
    }
    Installed::get();
    let program = compile("gcc", &["-ldl"], "hot_functions.c", "program");
    let library = built().join("libmatchpoint.so");
    let functions = disassemble(&library);
    let addresses = stdout(Command::new(program).arg(&library));
    assert_eq!(addresses.lines().count(), HOT.split(' ').count());
    for (hot, address) in HOT.split(' ').zip(addresses.lines()) {
        let function = functions.iter().find(|function| function.address == address).expect(hot);
        let found = find_stalls(function);
        assert!(found.is_empty(), "{hot}: {found:?}\n{:#?}", function.code);
    }
}
