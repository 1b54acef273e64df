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

// Within are the lower ones of q and around. Zero is no quota.
func (q Quotas) Within(around Quotas) Quotas {
	return Quotas{Principal: q.Principal.within(around.Principal), Total: q.Total.within(around.Total)}
}

func (q Quota) within(around Quota) Quota {
	return Quota{
		RunsPerHour: lower(q.RunsPerHour, around.RunsPerHour), RunsPerDay: lower(q.RunsPerDay, around.RunsPerDay),
		OutputPerDay: lower(q.OutputPerDay, around.OutputPerDay), CPUPerDay: lower(q.CPUPerDay, around.CPUPerDay), Kept: lower(q.Kept, around.Kept),
	}
}

func lower[T int | int64 | Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
