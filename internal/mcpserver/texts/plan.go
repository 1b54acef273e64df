package texts

// What models are told of the tools for the checklist.
const (
	TasksCreate = `Add items to your checklist: what there is to do, one title each. It is kept for your session, also after a restart or when your conversation was shortened. Returns the whole list; ids (t1, t2, …) are given.`
	TasksUpdate = `Set the status of one item: pending, in_progress, done, or closed when it won't be done, which needs a note. Returns the whole list.`
	TasksList   = `Your whole checklist with counts, and how many of your commands go on or wait to be read. Look here first when you have lost track.`
)
