package diff

import (
	"paddock"
	"paddock/internal/review/diff/measure"
)

// quotas compares how much may be used.
func (d *differ) quotas() {
	where := d.new.section("quotas")
	for _, of := range []struct {
		name string
		o, n paddock.Quota
	}{
		{"principal", d.old.file.Quotas.Principal, d.new.file.Quotas.Principal},
		{"total", d.old.file.Quotas.Total, d.new.file.Quotas.Total},
	} {
		at := "quotas." + of.name
		d.number(at+".runs_per_hour", "runs an hour", measure.Unbounded(int64(of.o.RunsPerHour)), measure.Unbounded(int64(of.n.RunsPerHour)), where)
		d.number(at+".runs_per_day", "runs a day", measure.Unbounded(int64(of.o.RunsPerDay)), measure.Unbounded(int64(of.n.RunsPerDay)), where)
		d.number(at+".output_per_day", "bytes of output a day", measure.Unbounded(of.o.OutputPerDay), measure.Unbounded(of.n.OutputPerDay), where)
		d.duration(at+".cpu_per_day", "Runs may take, of processors in a day,", measure.Unbounded(int64(of.o.CPUPerDay)), measure.Unbounded(int64(of.n.CPUPerDay)), where)
		d.number(at+".kept", "bytes of kept output", measure.Unbounded(of.o.Kept), measure.Unbounded(of.n.Kept), where)
	}
}
