package desk_test

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"paddock/internal/store"
)

// memory is a store that keeps what it is told in memory, by the contract's words: what
// is tried here is tried on it where no database is wanted.
type memory struct {
	mu          sync.Mutex
	users       map[store.UserID]store.User
	identities  []store.Identity
	factors     map[store.FactorID]store.Factor
	invitations map[store.Hash]store.Invitation
	sessions    map[store.Hash]store.Session
	tokens      map[store.Hash]store.Token
	links       map[store.Hash]store.LoginLink

	writes map[string]int // by method
	fails  error          // everything answers it
}

func newMemory() *memory {
	return &memory{
		users: map[store.UserID]store.User{}, factors: map[store.FactorID]store.Factor{}, invitations: map[store.Hash]store.Invitation{},
		sessions: map[store.Hash]store.Session{}, tokens: map[store.Hash]store.Token{}, links: map[store.Hash]store.LoginLink{}, writes: map[string]int{},
	}
}

func (m *memory) begin(method string) (func(), error) {
	m.mu.Lock()
	m.writes[method]++
	return m.mu.Unlock, m.fails
}

func (m *memory) counted(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes[method]
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

func (m *memory) add(u store.User) error {
	for _, other := range m.users {
		if other.Name == u.Name || other.ID == u.ID {
			return store.ErrExists
		}
	}
	u.Revision = 1
	m.users[u.ID] = u
	return nil
}

func (m *memory) AddUser(_ context.Context, u store.User) error {
	end, err := m.begin("AddUser")
	defer end()
	if err != nil {
		return err
	}
	return m.add(u)
}

func (m *memory) AddFirstUser(_ context.Context, u store.User) error {
	end, err := m.begin("AddFirstUser")
	defer end()
	if err == nil && len(m.users) > 0 {
		err = store.ErrExists
	}
	if err != nil {
		return err
	}
	return m.add(u)
}

func (m *memory) User(_ context.Context, id store.UserID) (store.User, error) {
	end, err := m.begin("User")
	defer end()
	u, ok := m.users[id]
	if err == nil && !ok {
		err = store.ErrNotFound
	}
	return u, err
}

func (m *memory) UserNamed(_ context.Context, name string) (store.User, error) {
	end, err := m.begin("UserNamed")
	defer end()
	for _, u := range m.users {
		if err == nil && u.Name == name {
			return u, nil
		}
	}
	return store.User{}, cmp.Or(err, store.ErrNotFound)
}

// paged is the page of all, newest first.
func paged[T any](all []T, key func(T) store.Cursor, after store.Cursor, most int) store.Page[T] {
	newer := func(a, b store.Cursor) int {
		return -cmp.Or(a.Created.Compare(b.Created.Time), cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(all, func(a, b T) int { return newer(key(a), key(b)) })
	var page store.Page[T]
	for _, item := range all {
		if after != (store.Cursor{}) && newer(after, key(item)) >= 0 {
			continue
		}
		if len(page.Items) == most {
			page.More = true
			break
		}
		page.Items = append(page.Items, item)
		page.Next = key(item)
	}
	return page
}

func (m *memory) Users(_ context.Context, after store.Cursor, most int) (store.Page[store.User], error) {
	end, err := m.begin("Users")
	defer end()
	var all []store.User
	for _, u := range m.users {
		all = append(all, u)
	}
	return paged(all, func(u store.User) store.Cursor { return store.Cursor{Created: u.Created, ID: string(u.ID)} }, after, most), err
}

func (m *memory) ChangeUser(_ context.Context, u store.User) (store.User, error) {
	end, err := m.begin("ChangeUser")
	defer end()
	kept, ok := m.users[u.ID]
	admins := 0
	for _, other := range m.users {
		if other.Role == store.Admin && !other.Disabled && other.ID != u.ID {
			admins++
		}
	}
	switch {
	case err != nil:
		return store.User{}, err
	case !ok:
		return store.User{}, store.ErrNotFound
	case kept.Revision != u.Revision:
		return store.User{}, store.ErrStale
	case admins == 0 && kept.Role == store.Admin && !kept.Disabled && (u.Role != store.Admin || u.Disabled):
		return store.User{}, store.ErrLastAdmin
	}
	u.Created = kept.Created
	u.Revision++
	m.users[u.ID] = u
	return u, nil
}

func (m *memory) AddIdentity(_ context.Context, i store.Identity) error {
	end, err := m.begin("AddIdentity")
	defer end()
	if err != nil {
		return err
	}
	return m.bind(i)
}

func (m *memory) bind(i store.Identity) error {
	for _, other := range m.identities {
		if other.Issuer == i.Issuer && other.Subject == i.Subject {
			return store.ErrExists
		}
	}
	m.identities = append(m.identities, i)
	return nil
}

func (m *memory) Identity(_ context.Context, issuer, subject string, now store.Moment) (store.Identity, error) {
	end, err := m.begin("Identity")
	defer end()
	for at, i := range m.identities {
		if err == nil && i.Issuer == issuer && i.Subject == subject {
			m.identities[at].LastUsed = now
			return i, nil
		}
	}
	return store.Identity{}, cmp.Or(err, store.ErrNotFound)
}

func (m *memory) Identities(_ context.Context, owner store.UserID) ([]store.Identity, error) {
	end, err := m.begin("Identities")
	defer end()
	var out []store.Identity
	for _, i := range m.identities {
		if i.Owner == owner {
			out = append(out, i)
		}
	}
	return out, err
}

func (m *memory) RemoveIdentity(_ context.Context, owner store.UserID, issuer, subject string) error {
	end, err := m.begin("RemoveIdentity")
	defer end()
	for at, i := range m.identities {
		if err == nil && i.Owner == owner && i.Issuer == issuer && i.Subject == subject {
			m.identities = slices.Delete(m.identities, at, at+1)
			return nil
		}
	}
	return cmp.Or(err, store.ErrNotFound)
}

func (m *memory) AddFactor(_ context.Context, f store.Factor) error {
	end, err := m.begin("AddFactor")
	defer end()
	for _, other := range m.factors {
		if err == nil && (other.ID == f.ID || f.Handle != "" && other.Handle == f.Handle) {
			err = store.ErrExists
		}
	}
	if err == nil {
		m.factors[f.ID] = f
	}
	return err
}

func (m *memory) Factors(_ context.Context, owner store.UserID) ([]store.Factor, error) {
	end, err := m.begin("Factors")
	defer end()
	var out []store.Factor
	for _, f := range m.factors {
		if f.Owner == owner {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b store.Factor) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

func (m *memory) FactorByHandle(_ context.Context, handle string) (store.Factor, error) {
	end, err := m.begin("FactorByHandle")
	defer end()
	for _, f := range m.factors {
		if err == nil && handle != "" && f.Handle == handle {
			return f, nil
		}
	}
	return store.Factor{}, cmp.Or(err, store.ErrNotFound)
}

func (m *memory) UseFactor(_ context.Context, owner store.UserID, id store.FactorID, counter int64, data []byte, now store.Moment) error {
	end, err := m.begin("UseFactor")
	defer end()
	f, ok := m.factors[id]
	switch {
	case err != nil:
		return err
	case !ok || f.Owner != owner:
		return store.ErrNotFound
	case counter <= f.Counter && (counter != 0 || f.Counter != 0):
		return store.ErrOver
	}
	f.Counter, f.Data, f.LastUsed = counter, data, now
	m.factors[id] = f
	return nil
}

func (m *memory) RemoveFactor(_ context.Context, owner store.UserID, id store.FactorID) error {
	end, err := m.begin("RemoveFactor")
	defer end()
	if f, ok := m.factors[id]; err == nil && (!ok || f.Owner != owner) {
		err = store.ErrNotFound
	}
	if err == nil {
		delete(m.factors, id)
	}
	return err
}
