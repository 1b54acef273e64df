package texts

// What models are told of the tools for delegates.
const (
	Delegate = `Give a task to another agent that the operator lists; returns its workerId at once. It works by itself: it knows nothing but the text of the task, and its report is all that comes back. More than may run at once wait for their turn. Collect with collect_results.`
	Collect  = `Results of your delegates. Waits at most 45 seconds: repeat until pending is 0. A result comes again with every call until you name its workerId in acknowledge, so nothing is lost when a call is cut off; acknowledge those that you have with your next call. Each has a summary, and retrieve_context reads the whole report by its artifactId.`

	CancelDelegate = `End a delegate and everything it started, or take it out of the queue. What it had printed stays readable; its result says that it was canceled. One that has a result comes back unchanged.`
)
