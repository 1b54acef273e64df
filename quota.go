package paddock

// A Quota says how much may be used, of a principal or of all together. Zero means
// that there is no such quota.
type Quota struct {
	// RunsPerHour and RunsPerDay are how many runs may be started in any hour and
	// in any day.
	RunsPerHour int
	RunsPerDay  int
	// OutputPerDay is how many bytes runs may print in any day, that are kept.
	OutputPerDay int64
	// CPUPerDay is how much time of processors runs that ended in any day may have
	// taken.
	CPUPerDay Duration
	// Kept is how many bytes of output there may be in the state directory.
	Kept int64
}

// Quotas are those of each principal, and those of all together.
type Quotas struct {
	Principal Quota
	Total     Quota
}
