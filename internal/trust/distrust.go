package trust

// A Distrust says in words why a file can't be trusted.
type Distrust string

func (d Distrust) Error() string { return string(d) }
