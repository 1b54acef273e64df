package document

import (
	"paddock"
	"paddock/internal/policy/compiled/document/shape"
)

func (b *builder) quotas(v *shape.Value) paddock.Quotas {
	return paddock.Quotas{Principal: b.quota(v.Get("principal")), Total: b.quota(v.Get("total"))}
}

func (b *builder) quota(v *shape.Value) paddock.Quota {
	return paddock.Quota{
		RunsPerHour:  int(b.number(v.Get("runs_per_hour"))),
		RunsPerDay:   int(b.number(v.Get("runs_per_day"))),
		OutputPerDay: b.size(v.Get("output_per_day"), maxMemory),
		CPUPerDay:    b.duration(v.Get("cpu_per_day")),
		Kept:         b.size(v.Get("kept"), maxMemory),
	}
}
