package layered

import "paddock"

// lowerQuotas takes the lower of each quota. Zero is none.
func lowerQuotas(a, b paddock.Quotas) paddock.Quotas {
	return paddock.Quotas{Principal: lowerQuota(a.Principal, b.Principal), Total: lowerQuota(a.Total, b.Total)}
}

func lowerQuota(a, b paddock.Quota) paddock.Quota {
	return paddock.Quota{
		RunsPerHour: least(a.RunsPerHour, b.RunsPerHour), RunsPerDay: least(a.RunsPerDay, b.RunsPerDay),
		OutputPerDay: least(a.OutputPerDay, b.OutputPerDay), CPUPerDay: least(a.CPUPerDay, b.CPUPerDay), Kept: least(a.Kept, b.Kept),
	}
}
