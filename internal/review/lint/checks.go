package lint

// A Check is one thing that lint looks for. Its id never changes its meaning.
type Check struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
}

var checks = []Check{
	{"L001", "any arguments for a program that can start or change others", "`args: any` lets the caller use every way out that the program has.", "List the forms that are needed under `args`."},
	{"L002", "any arguments", "What the program's flags can do is up to the caller, in this version and the next.", "List the forms that are needed under `args`."},
	{"L003", "a flag or subcommand that leads out", "The words that are allowed include one by which the program starts another, loads code, or writes where it is told.", "Leave that word out: a narrower token, fewer `flags`, or a `deny` before this rule."},
	{"L004", "the caller chooses what is run or reached", "A token lets the caller choose a script, program, subcommand, file or address, and the program acts on it.", "Write the words that are needed as literals or as a set, `\"{a,b}\"`."},
	{"L005", "a program that takes orders from standard input", "Without words the program reads what to do from standard input, which the caller can give.", "Demand at least one literal word, or remove the form `allow: []`."},
	{"L006", "a terminal, at which anything can be typed", "What is typed while a program runs is judged by nobody: neither argument rules nor rules in CEL see it, and a program may start others by it (`!` in pagers and editors).", "Leave `pty` out, or accept it where containment alone is meant to hold the program."},
	{"L010", "an executable that isn't there or can't be trusted", "Runs of it are refused here, or others could put something in its place.", "Correct the path, or its owner and mode."},
	{"L011", "an executable where programs can write", "What is allowed to run can replace it, and so decide what runs next.", "Move the program out of roots and of `write`, or make its directory no root."},
	{"L012", "an executable that isn't root's and isn't pinned", "Whoever can write as that account decides what runs, and nobody notices.", "Pin it: `paddock policy pin NAME`."},
	{"L020", "the policy lies where programs can write", "What it allows could change what it allows.", "Move the policy out of every root and of `write`."},
	{"L021", "a root that is more than a project", "Commands may run, and write, in places that belong to the system or hold all of a person's files.", "Name the directory of the project."},
	{"L022", "a root inside another root", "It adds nothing: the outer one holds it already.", "Remove one of the two."},
	{"L030", "an argument rule that never decides", "Rules before it match everything that it would.", "Remove it, or move it up."},
	{"L031", "a denial that refuses nothing", "What it denies no other rule allows, and it has no message for whoever asks.", "Remove it, or give it a `message`."},
	{"L032", "a denial that comes too late", "A rule before it allows some of what it denies; the first that matches decides.", "Move the `deny` before that rule."},
	{"L033", "a rule that doesn't depend on the request", "Its expression names no variable, so it refuses everything or nothing.", "Correct the expression, or remove the rule."},
	{"L034", "a rule about an executable that isn't there", "It compares `executable` with a word that the policy doesn't have, so that part never holds.", "Correct the word; it is the `name`, or the path where there is no name."},
	{"L035", "rules that couldn't be looked at", "They are too many, or use expressions that look around themselves, so that lint can't tell what they allow.", "Write them more simply: fewer rules for a program, no `\\b`, no `(?m)`."},
	{"L036", "a rule that asks nobody", "Whatever it is about is refused: the policy lists no keys by which persons could approve.", "List who can approve under `approvals`, or say `deny`."},
	{"L037", "somebody whose requests nobody can approve", "Who asks can't approve, and there are too few others.", "List more keys, or ask fewer `approvers`."},
	{"L038", "a second factor that nobody can show", "What the rule asks about can't be approved: no server is believed that one was shown, or too few of those who approve have an account there.", "List the server under `approvals.verifiers`, and the `account` of each person beside the key."},
	{"L039", "a principal that nobody is", "What is said of it holds for nobody, and nobody is told: who was meant is narrowed by nothing, or approves what they ask for themselves.", "Write the id as `paddock ps --json` shows it: `user:NAME`, `operator:uid=1000`, or an agent's by an expression; for what a host program calls itself say `kind: host`."},
	{"L040", "a variable that steers programs is passed on", "Its value is whatever Paddock's own environment happens to hold, and it can change what commands do.", "Give it a fixed value under `set`, or remove it."},
	{"L041", "a caller may set a variable to anything", "The token matches words with dashes, slashes and spaces alike.", "Use `<word>`, a set, or a narrower expression."},
	{"L042", "a variable that makes programs load code", "Every program, and what it starts, loads what the value names before it does anything.", "Remove it, or say it for the one executable that needs it."},
	{"L050", "no limit of memory or processes", "With `require: off` there is no default, and one run can take the machine down.", "Set `limits: {memory: …, processes: …}`, or contain runs."},
	{"L051", "a very long time", "A run that hangs is there for more than a day.", "Lower `timeout`, or add `idle`."},
	{"L052", "a quota that never holds anybody back", "Another one, or the same one of all together, is always reached before.", "Lower it, or remove it."},
	{"L053", "a quota that one run can use up", "A single run that prints what it may is cut short, and all that come after it are refused.", "Raise it, or lower `limits: {output: …}`."},
	{"L060", "nothing contains programs", "They have all rights of Paddock's account; argument rules are then the only thing that holds them, and builds run what the checkout says.", "`containment: {require: full}`, or `standard` where that can't be."},
	{"L061", "programs have the machine's network", "Whatever they can read can leave, and services on localhost are reached.", "`network: none`, or `allowlist` with what each executable needs."},
	{"L062", "programs may write where the system or a person lives", "They can change what others run.", "Name the directory that is needed."},
	{"L063", "programs see credentials or a service's socket", "A credential that can be read can be used elsewhere, and a socket acts with its service's rights.", "Leave it out of `read` and `write`."},
	{"L070", "no tests", "Nobody notices when a change of the policy allows or refuses something else than is meant.", "Add `tests`: a command that must be allowed, and one that must be refused."},
	{"L080", "a secret for a program that hands it on", "Whatever a shell, an interpreter, a wrapper or a build tool starts has its variables, so what the checkout says gets the secret.", "Name the one program that needs it, or use `inject`."},
	{"L081", "a provider of a secret that isn't pinned", "Whoever can change that program is told the secret, or says another.", "Write the digest beside `exec` as `sha256`; `sha256sum` prints it."},
	{"L082", "a secret that nobody gets", "It is read, or asked for, at every run, and can only be lost.", "Remove it, or name a program that is allowed to do something."},
	{"L083", "a provider of a secret that does what its words say", "A shell or an interpreter is what is checked and pinned; the script that it reads isn't.", "Make the script executable and name it itself, or name a program that needs none."},
	{"L090", "an acceptance that accepts nothing", "The finding isn't there any more, or is about something else.", "Remove it from `accept`, or correct `id` and `at`."},
}

// Checks lists what is looked for.
func Checks() []Check { return append([]Check(nil), checks...) }

func check(id string) Check {
	for _, c := range checks {
		if c.ID == id {
			return c
		}
	}
	panic("paddock: bug: no check " + id)
}
