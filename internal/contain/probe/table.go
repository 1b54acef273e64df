package probe

const (
	filesRow = "reads outside the root, HOME, `read`, `write` and the system's directories"
	rootRow  = "files that only root may read, in `read` and the system's directories"
	writeRow = "writes outside the root, HOME and `write`"
	traceRow = "tracing, memory and descriptors of processes outside (`ptrace`, `process_vm_readv`, `/proc/PID/mem`)"
	mountRow = "mounts, new namespaces, chroot, setns"
	callsRow = "kernel modules, kexec, BPF, perf, keyrings, io_uring, userfaultfd, typing into terminals"
	netRow   = "network, where `network: none`"
	cleanRow = "the environment is what the policy says; no inherited descriptors; no terminal"

	fixFiles  = "Update the kernel (`paddock doctor` shows its Landlock ABI) and require `full`; until then permit only programs that you would trust with these files."
	fixFilter = "The filter of system calls doesn't hold on this kernel: look for another one that answers them (a sandbox around Paddock, an emulator), and report it."
	fixRights = "Don't run Paddock as root here, and report it."
	fixNet    = "Don't run programs here that must not reach services of this machine, and report it."
)

// Table is everything that is attempted, in the order of docs/threat-model.md.
var Table = []Check{
	{"read_outside", filesRow, Always, Always, Never, "a program can read any file that the account can read", fixFiles},
	{"root_only", rootRow, Always, Always, Never, "a program can read what only root may, where it is shown the place", fixRights},
	{"link_from_outside", filesRow, Always, Always, Never, "a program can bring files of others into its workspace, by hard or symbolic links", fixFiles},
	{"stat_outside", "names and attributes of files outside (`stat`, does it exist)", Always, Never, Never, "a program can find out which files exist", fixFiles},
	{"write_outside", writeRow, Always, Always, Never, "a program can change any file that the account can change", fixFiles},
	{"write_system", writeRow, Always, Always, Never, "a program can change the system's directories and the kernel's settings, as far as the account may", fixFiles},
	{"attributes_outside", "chmod, chown, utimes, extended attributes outside", Always, Never, Never, "a program can change modes and times of files that the account owns", fixFiles},
	{"state", "state directory, records, other runs' output", Always, Always, Never, "a program can read or forge the records of runs", "Keep the state directory outside of /tmp and of granted paths (--state), and require `full`."},
	{"policy_and_keys", "the policy, `~/.ssh`, tokens, browser profiles", Always, Always, Never, "a program can read the policy, and the keys and tokens of the account", fixFiles},
	{"other_root", "another root, another project's HOME", Always, Always, Never, "a program can read and change the workspaces of others", fixFiles},
	{"protected", "protected places at the top of the root (git's hooks and configuration, settings of agents and editors)", Always, Never, Never, "a program can plant a git hook, or settings that an agent or editor executes", "Look at .git/hooks, .mcp.json and their like after each run, and report it."},
	{"tmp", "`/tmp`, `/var/tmp`, `/dev/shm` of its own", Always, Never, Never, "a program shares /tmp with the rest of the machine", fixFiles},
	{"shm", writeRow, Always, Always, Never, "a program can change what others share in /dev/shm", fixFiles},
	{"etc", "`/etc`", Always, Always, Never, "a program can read settings of this machine", fixFiles},
	{"devices", "`/dev`", Always, Always, Never, "a program can open devices as far as the account may, such as the machine's memory or disks", fixRights},
	{"proc", "`/proc` shows the run's own processes only", Always, Hidden, Hidden, "a program sees the processes of the account, and their command lines", "This kernel or container doesn't let /proc be mounted again. Run Paddock outside of it, or with /proc unmasked (docker: --security-opt systempaths=unconfined)."},
	{"signals", "signals to processes outside", Always, Always, Hidden, "a program can end other processes of the account", fixFiles},
	{"tracing", traceRow, Always, Always, Never, "a program can read and take over other processes of the account", fixFiles},
	{"supervisor", traceRow, Always, Always, Never, "a program can look into the process that holds its own tree", fixFiles},
	{"tcp", netRow, Always, Always, Never, "a program can talk to services of this machine", fixNet},
	{"udp", netRow, Always, Always, Never, "a program can send datagrams, so also names to look up that carry data out", fixNet},
	{"raw_sockets", netRow, Always, Always, Never, "a program can send and listen to raw packets", fixNet},
	{"loopback", netRow, Always, Never, Never, "programs can't talk to their own helpers over localhost", "The loopback interface of a new network namespace can't be brought up here. Use `network: host` for programs that need it, and report it."},
	{"unix_socket", "unix sockets with a path", Always, Always, Never, "a program can talk to services of this machine, such as a container engine, which may do anything for it", fixFiles},
	{"abstract_socket", "abstract unix sockets outside", Always, Always, Never, "a program can talk to the desktop's and other services", fixFiles},
	{"setuid", "setuid programs, file capabilities", Always, Always, Never, "a program can gain rights by sudo and its like", fixRights},
	{"capabilities", "capabilities", Always, Always, Never, "a program has rights of the administrator", fixRights},
	{"identity", "identity", Always, Always, Never, "a program is root, though without root's capabilities", fixRights},
	{"mounts", mountRow, Always, Always, Never, "a program can change what it and others see of the file system", fixFilter},
	{"namespaces", mountRow, Always, Always, Never, "a program can get rights in namespaces of its own, and by them at faults of the kernel", fixFilter},
	{"kernel_calls", callsRow, Always, Always, Never, "a program gets at parts of the kernel that no build needs and that often have faults", fixFilter},
	{"terminal_input", callsRow, Always, Always, Never, "a program can type commands into a terminal that it was given", fixFilter},
	{"core_dumps", "core dumps", Always, Always, Never, "a program's memory can be written to places outside", "Set the core limit of the account to 0 (`ulimit -c 0`), and report it."},
	{"descriptors", cleanRow, Always, Always, Always, "a program got something open that was meant for others", "Start Paddock from a plain shell, and report it."},
	{"terminal", cleanRow, Always, Always, Always, "a program can read what is typed and write on the screen", "Start Paddock without a terminal (setsid), and report it."},
	{"open_files", "open files of a process", Always, Always, Always, "a program can open more files than the policy says", "Lower the limit of the account (`ulimit -n`), and report it."},
}
