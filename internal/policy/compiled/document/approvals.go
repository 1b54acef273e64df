package document

import (
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/voters"
)

// What holds where the policy doesn't say.
const (
	approvalExpires = time.Hour
	approvalLasts   = 15 * time.Minute
)

// approvals reads who can approve.
func (b *builder) approvals(v *shape.Value) paddock.Approvals {
	if v == nil {
		return paddock.Approvals{}
	}
	a := paddock.Approvals{
		Approvers: max(1, int(b.number(v.Get("approvers")))), Uses: max(1, int(b.number(v.Get("uses")))),
		Expires: time.Duration(b.duration(v.Get("expires"))), Lasts: time.Duration(b.duration(v.Get("lasts"))),
	}
	if a.Expires == 0 {
		a.Expires = approvalExpires
	}
	if a.Lasts == 0 {
		a.Lasts = approvalLasts
	}
	for _, item := range v.Get("keys").Items() {
		a.Keys = append(a.Keys, paddock.ApprovalKey{
			Name: b.text(item.Get("name")).Value, Key: b.text(item.Get("key")).Value,
			Principal: b.text(item.Get("principal")).Value, Account: b.text(item.Get("account")).Value,
		})
	}
	for _, item := range v.Get("verifiers").Items() {
		a.Verifiers = append(a.Verifiers, paddock.ApprovalVerifier{Name: b.text(item.Get("name")).Value, Key: b.text(item.Get("key")).Value})
	}
	for _, f := range voters.Check(a, v) {
		b.fault(f.At, f.Message)
	}
	return a
}
