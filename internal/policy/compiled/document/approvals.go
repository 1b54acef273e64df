package document

import (
	"encoding/base64"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
)

// What holds where the policy doesn't say.
const (
	approvalExpires = time.Hour
	approvalLasts   = 15 * time.Minute
)

// approvals reads who can approve. Two entries with one key would be two persons
// where there is one.
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
	names, keys, people := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, item := range v.Get("keys").Items() {
		k := paddock.ApprovalKey{Name: b.text(item.Get("name")).Value, Key: b.text(item.Get("key")).Value, Principal: b.text(item.Get("principal")).Value}
		who := k.Principal
		if who == "" {
			who = "\x00" + k.Name
		}
		people[who] = true
		switch {
		case names[k.Name]:
			b.fault(item.Get("name"), "this name is listed before; a person has one key")
		case keys[k.Key]:
			b.fault(item.Get("key"), "this key is listed before; each person has one of their own")
		}
		if raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(k.Key, "ed25519:")); k.Key != "" && (err != nil || len(raw) != 32) {
			b.fault(item.Get("key"), "it isn't a key: want what paddock approve key prints")
		}
		names[k.Name], keys[k.Key] = true, true
		a.Keys = append(a.Keys, k)
	}
	if a.Approvers > len(people) {
		b.fault(v.Get("approvers"), "more must approve than there are persons with keys; list more, or ask fewer")
	}
	return a
}
