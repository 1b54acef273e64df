// Package texts has what models are told of the tools.
//
// # Limits
//
// Clients cut long texts, so their bounds are tested, where the tools are.
package texts

// What models are told of the server and of the tools for commands.
const (
	Instructions = `Paddock runs programs under the operator's policy and keeps every byte they print.
Start with run_command_bg, poll with command_status (waitMs up to 45000), read with command_output, end with command_kill, and find lost tasks with command_list.
There is no shell: argv is an array, one entry per word. A refusal has a code and says what to do instead; asking again unchanged only helps when retryable is true.`

	Start = `Start one program in the background; returns its taskId at once.
argv is an array, one entry per word: ["go","test","./..."]. There is no shell: no pipes, &&, redirection, globs, variables or quoting. Run the parts of a pipeline one after another; stdin can be the output of an earlier task.
The operator's policy decides. A refusal carries a code, the reason and what to do instead.
The task lives on if this call is cut off: ask again with the same idempotencyKey, or use command_list. A nonzero exit is a result, not an error.`

	Status = `State of a task: exit code, why it ended, bytes printed, digests and the last lines of output.
With waitMs it returns when the task has ended or that time is over. At most 45000 are waited per call: repeat until settled is true; nothing is lost in between or when a call is cut off.`

	Output = `Read what a task printed, exactly, also while it runs.
Start at offset 0 and go on at nextOffset until eof is true; the pages joined are the whole stream. Offsets are bytes; a page of text never splits a character. hasMore false with eof false: more may come, use waitMs (at most 45000).
Instead of offset: tail (the last N lines) or line (from line N). grep keeps matching lines, and lines says where they are. view clean leaves out colours, progress bars and hidden characters. raw gives exact bytes where output isn't UTF-8, as base64.`

	Kill = `End a task and every process it started: the signal (TERM unless said otherwise), then KILL after 5 seconds. Returns its status. What was printed stays readable. A task that has ended comes back unchanged.`

	List = `Your tasks, newest first, also of earlier sessions: use it when you have lost a taskId. Go on with before set to next.`

	Retrieve = `Read something that is kept, in pages: what a command printed (artifactId is its taskId), all that git printed for a git tool's answer (its artifactId), a report. Start at offset 0 and go on at nextOffset until eof is true; the pages joined are the whole. Offsets are bytes.`
)

// What models are told of the git tools.
const (
	GitLog       = `Commits, newest first, as structured data. Paths are literal, dates and revisions plain values; nothing is a flag. Go on with skip set to next. Nothing of the repository is run and nothing is changed.`
	GitShow      = `One commit: its message, the files that it changes and where (hunks are byte ranges of the task's output, which has the patch). A merge is compared with its first parent.`
	GitDiff      = `What differs: base and head two commits; base alone, that commit and the working tree; neither, the index and the working tree. Untracked files aren't shown. Hunks are byte ranges of the task's output, which has the patch.`
	GitBlame     = `Which commit each line of a file is from, as of a commit (HEAD unless ref is given).`
	GitMergeBase = `The best common ancestor of two revisions, or a note that there is none.`
	GitListFiles = `The files that git tracks, by the index.`
	GitStatus    = `What differs between HEAD, the index and the working tree: staged, unstaged, untracked, renamed and conflicting files; the branch, and how far it is from what it follows, as far as that is known here. Nothing is fetched or written.`
	GitGrep      = `Lines that match, in a commit (ref) or in the tracked files of the working tree, with path, number and column. Binary files aren't searched.`
	GitBranches  = `Branches and tags, newest first: what each stands for, its date and subject, and what a branch follows.`
	GitCat       = `What a file holds at a commit (HEAD unless ref is given), by bytes or lines; go on with offset set to next. Says if it is binary, a link, a submodule, a directory or a pointer of Git LFS. What isn't UTF-8 is base64.`
)
