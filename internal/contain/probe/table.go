package probe

const (
	filesRow = "reads outside the root, HOME, `read`, `write` and the system's directories"
	rootRow  = "files that only root may read, in `read` and the system's directories"
	writeRow = "writes outside the root, HOME and `write`"
	traceRow = "tracing, memory and descriptors of processes outside (`ptrace`, `process_vm_readv`, `/proc/PID/mem`)"
	mountRow = "mounts, new namespaces, chroot, setns"
	callsRow = "kernel modules, kexec, BPF, perf, keyrings, io_uring, userfaultfd, typing into terminals"
	netRow   = "network, where `network: none`"
	execRow  = "what a program starts in turn is permitted too"
	cleanRow = "the environment is what the policy says; no inherited descriptors; no terminal of anybody else: one of its own, where the policy says `pty`"

	fixFiles  = "Update the kernel (`paddock doctor` shows its Landlock ABI) and require `full`; until then permit only programs that you would trust with these files."
	fixFilter = "The filter of system calls doesn't hold on this kernel: look for another one that answers them (a sandbox around Paddock, an emulator), and report it."
	fixRights = "Don't run Paddock as root here, and report it."
	fixNet    = "Don't run programs here that must not reach services of this machine, and report it."
)

// Table is everything that is attempted, in the order of docs/threat-model.md.
var Table = []Check{
	{ID: "read_outside", Row: filesRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can read any file that the account can read", Remedy: fixFiles},
	{ID: "root_only", Row: rootRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can read what only root may, where it is shown the place", Remedy: fixRights},
	{ID: "link_from_outside", Row: filesRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can bring files of others into its workspace, by hard or symbolic links", Remedy: fixFiles},
	{ID: "stat_outside", Row: "names and attributes of files outside (`stat`, does it exist)", Full: Always, Standard: Never, Off: Never, Meaning: "a program can find out which files exist", Remedy: fixFiles},
	{ID: "write_outside", Row: writeRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can change any file that the account can change", Remedy: fixFiles},
	{ID: "write_system", Row: writeRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can change the system's directories and the kernel's settings, as far as the account may", Remedy: fixFiles},
	{ID: "attributes_outside", Row: "chmod, chown, utimes, extended attributes outside", Full: Always, Standard: Never, Off: Never, Meaning: "a program can change modes and times of files that the account owns", Remedy: fixFiles},
	{ID: "state", Row: "state directory, records, other runs' output", Full: Always, Standard: Always, Off: Never, Meaning: "a program can read or forge the records of runs", Remedy: "Keep the state directory outside of /tmp and of granted paths (--state), and require `full`."},
	{ID: "policy_and_keys", Row: "the policy, `~/.ssh`, tokens, browser profiles", Full: Always, Standard: Always, Off: Never, Meaning: "a program can read the policy, and the keys and tokens of the account", Remedy: fixFiles},
	{ID: "other_root", Row: "another root, another project's HOME", Full: Always, Standard: Always, Off: Never, Meaning: "a program can read and change the workspaces of others", Remedy: fixFiles},
	{ID: "protected", Row: "protected places at the top of the root (git's hooks and configuration, settings of agents and editors)", Full: Always, Standard: Never, Off: Never, Meaning: "a program can plant a git hook, or settings that an agent or editor executes", Remedy: "Look at .git/hooks, .mcp.json and their like after each run, and report it."},
	{ID: "tmp", Row: "`/tmp`, `/var/tmp`, `/dev/shm` of its own", Full: Always, Standard: Never, Off: Never, Meaning: "a program shares /tmp with the rest of the machine", Remedy: fixFiles},
	{ID: "shm", Row: writeRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can change what others share in /dev/shm", Remedy: fixFiles},
	{ID: "etc", Row: "`/etc`", Full: Always, Standard: Always, Off: Never, Meaning: "a program can read settings of this machine", Remedy: fixFiles},
	{ID: "devices", Row: "`/dev`", Full: Always, Standard: Always, Off: Never, Meaning: "a program can open devices as far as the account may, such as the machine's memory or disks", Remedy: fixRights},
	{ID: "proc", Row: "`/proc` shows the run's own processes only", Full: Always, Standard: Hidden, Off: Hidden, Meaning: "a program sees the processes of the account, and their command lines", Remedy: "This kernel or container doesn't let /proc be mounted again. Run Paddock outside of it, or with /proc unmasked (docker: --security-opt systempaths=unconfined)."},
	{ID: "signals", Row: "signals to processes outside", Full: Always, Standard: Always, Off: Hidden, Meaning: "a program can end other processes of the account", Remedy: fixFiles},
	{ID: "tracing", Row: traceRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can read and take over other processes of the account", Remedy: fixFiles},
	{ID: "supervisor", Row: traceRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can look into the process that holds its own tree", Remedy: fixFiles},
	{ID: "tcp", Row: netRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can talk to services of this machine", Remedy: fixNet},
	{ID: "udp", Row: netRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can send datagrams, so also names to look up that carry data out", Remedy: fixNet},
	{ID: "raw_sockets", Row: netRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can send and listen to raw packets", Remedy: fixNet},
	{ID: "loopback", Works: true, Row: netRow, Full: Always, Meaning: "programs can't talk to their own helpers over localhost", Remedy: "The loopback interface of a new network namespace can't be brought up here. Use `network: host` for programs that need it, and report it."},
	{ID: "unix_socket", Row: "unix sockets with a path", Full: Always, Standard: Always, Off: Never, Meaning: "a program can talk to services of this machine, such as a container engine, which may do anything for it", Remedy: fixFiles},
	{ID: "abstract_socket", Row: "abstract unix sockets outside", Full: Always, Standard: Always, Off: Never, Meaning: "a program can talk to the desktop's and other services", Remedy: fixFiles},
	{ID: "setuid", Row: "setuid programs, file capabilities", Full: Always, Standard: Always, Off: Never, Meaning: "a program can gain rights by sudo and its like", Remedy: fixRights},
	{ID: "capabilities", Row: "capabilities", Full: Always, Standard: Always, Off: Never, Meaning: "a program has rights of the administrator", Remedy: fixRights},
	{ID: "identity", Row: "identity", Full: Always, Standard: Always, Off: Never, Meaning: "a program is root, though without root's capabilities", Remedy: fixRights},
	{ID: "mounts", Row: mountRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can change what it and others see of the file system", Remedy: fixFilter},
	{ID: "namespaces", Row: mountRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can get rights in namespaces of its own, and by them at faults of the kernel", Remedy: fixFilter},
	{ID: "kernel_calls", Row: callsRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program gets at parts of the kernel that no build needs and that often have faults", Remedy: fixFilter},
	{ID: "terminal_input", Row: callsRow, Full: Always, Standard: Always, Off: Never, Meaning: "a program can type commands into a terminal that it was given", Remedy: fixFilter},
	{ID: "core_dumps", Row: "core dumps", Full: Always, Standard: Always, Off: Never, Meaning: "a program's memory can be written to places outside", Remedy: "Set the core limit of the account to 0 (`ulimit -c 0`), and report it."},
	{ID: "exec_listed", Beside: true, Row: execRow, Full: Always, Standard: Always, Meaning: "where a policy has `exec: listed`, a program starts what isn't listed all the same", Remedy: "The kernel doesn't hold Landlock's right to execute, or mounts without execution, here: don't count on `exec: listed`, and report it."},
	{ID: "directory", Row: "the working directory is inside a root and the one that was judged", Full: Always, Standard: Always, Off: Always, Meaning: "a program starts in another directory than the one that was judged", Remedy: "Report it."},
	{ID: "descriptors", Row: cleanRow, Full: Always, Standard: Always, Off: Always, Meaning: "a program got something open that was meant for others", Remedy: "Start Paddock from a plain shell, and report it."},
	{ID: "terminal", Row: cleanRow, Full: Always, Standard: Always, Off: Always, Meaning: "a program can read what is typed and write on the screen", Remedy: "Start Paddock without a terminal (setsid), and report it."},
	{ID: "open_files", Row: "open files of a process", Full: Always, Standard: Always, Off: Always, Meaning: "a program can open more files than the policy says", Remedy: "Lower the limit of the account (`ulimit -n`), and report it."},
}
