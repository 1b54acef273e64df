package desk_test

import (
	"cmp"
	"context"
	"slices"

	"paddock/internal/store"
)

func (m *memory) AddInvitation(_ context.Context, i store.Invitation) error {
	end, err := m.begin("AddInvitation")
	defer end()
	if _, ok := m.invitations[i.Code]; err == nil && ok {
		err = store.ErrExists
	}
	if _, ok := m.users[i.Owner]; err == nil && !ok {
		err = store.ErrInvalid
	}
	if err == nil {
		m.invitations[i.Code] = i
	}
	return err
}

func (m *memory) invited(code store.Hash, now store.Moment) (store.Invitation, error) {
	i, ok := m.invitations[code]
	if !ok || !i.Used.IsZero() || i.Expires.Past(now) {
		return store.Invitation{}, store.ErrNotFound
	}
	return i, nil
}

func (m *memory) Invitation(_ context.Context, code store.Hash, now store.Moment) (store.Invitation, error) {
	end, err := m.begin("Invitation")
	defer end()
	if err != nil {
		return store.Invitation{}, err
	}
	return m.invited(code, now)
}

func (m *memory) AcceptInvitation(_ context.Context, code store.Hash, u store.User, as *store.Identity, now store.Moment) (store.User, error) {
	end, err := m.begin("AcceptInvitation")
	defer end()
	if err != nil {
		return store.User{}, err
	}
	i, err := m.invited(code, now)
	if err != nil {
		return store.User{}, err
	}
	u.Role = i.Role
	if as != nil {
		as.Owner = u.ID
		if err := m.bind(*as); err != nil {
			return store.User{}, err
		}
	}
	if err := m.add(u); err != nil {
		if as != nil {
			m.identities = m.identities[:len(m.identities)-1]
		}
		return store.User{}, err
	}
	i.Used, i.UsedBy = now, u.ID
	m.invitations[code] = i
	return m.users[u.ID], nil
}

func (m *memory) Invitations(_ context.Context, s store.Scope, after store.Cursor, most int) (store.Page[store.Invitation], error) {
	end, err := m.begin("Invitations")
	defer end()
	var all []store.Invitation
	for _, i := range m.invitations {
		if s.All || i.Owner == s.Owner {
			all = append(all, i)
		}
	}
	return paged(all, func(i store.Invitation) store.Cursor { return store.Cursor{Created: i.Created, ID: string(i.ID)} }, after, most), err
}

func (m *memory) RemoveInvitation(_ context.Context, s store.Scope, id store.InvitationID) error {
	end, err := m.begin("RemoveInvitation")
	defer end()
	for code, i := range m.invitations {
		if err == nil && i.ID == id && (s.All || i.Owner == s.Owner) {
			delete(m.invitations, code)
			return nil
		}
	}
	return cmp.Or(err, store.ErrNotFound)
}

func (m *memory) AddSession(_ context.Context, s store.Session) error {
	end, err := m.begin("AddSession")
	defer end()
	if err == nil {
		m.sessions[s.Secret] = s
	}
	return err
}

func (m *memory) good(s store.Session, now store.Moment) bool {
	return s.Revoked.IsZero() && !s.Expires.Past(now) && !m.users[s.Owner].Disabled
}

func (m *memory) Session(_ context.Context, secret store.Hash, now store.Moment) (store.Session, store.User, error) {
	end, err := m.begin("Session")
	defer end()
	s, ok := m.sessions[secret]
	if err == nil && (!ok || !m.good(s, now)) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Session{}, store.User{}, err
	}
	return s, m.users[s.Owner], nil
}

func (m *memory) SeeSession(_ context.Context, id store.SessionID, now store.Moment) error {
	end, err := m.begin("SeeSession")
	defer end()
	for secret, s := range m.sessions {
		if err == nil && s.ID == id {
			s.LastSeen = now
			m.sessions[secret] = s
			return nil
		}
	}
	return cmp.Or(err, store.ErrNotFound)
}

func (m *memory) RotateSession(_ context.Context, old, fresh store.Hash, proven, now store.Moment) error {
	end, err := m.begin("RotateSession")
	defer end()
	s, ok := m.sessions[old]
	if err == nil && (!ok || !m.good(s, now)) {
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	delete(m.sessions, old)
	s.Secret, s.Proven, s.LastSeen = fresh, proven, now
	m.sessions[fresh] = s
	return nil
}

func (m *memory) Sessions(_ context.Context, owner store.UserID, now store.Moment) ([]store.Session, error) {
	end, err := m.begin("Sessions")
	defer end()
	var out []store.Session
	for _, s := range m.sessions {
		if s.Owner == owner && m.good(s, now) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b store.Session) int {
		return -cmp.Or(a.Created.Compare(b.Created.Time), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

func (m *memory) EndSession(_ context.Context, owner store.UserID, id store.SessionID, now store.Moment) error {
	end, err := m.begin("EndSession")
	defer end()
	for secret, s := range m.sessions {
		if err == nil && s.ID == id && s.Owner == owner && s.Revoked.IsZero() {
			s.Revoked = now
			m.sessions[secret] = s
			return nil
		}
	}
	return cmp.Or(err, store.ErrNotFound)
}

func (m *memory) EndSessions(_ context.Context, owner store.UserID, but store.SessionID, now store.Moment) (int, error) {
	end, err := m.begin("EndSessions")
	defer end()
	n := 0
	for secret, s := range m.sessions {
		if err == nil && s.Owner == owner && s.ID != but && m.good(s, now) {
			s.Revoked = now
			m.sessions[secret] = s
			n++
		}
	}
	return n, err
}

func (m *memory) AddToken(_ context.Context, t store.Token) error {
	end, err := m.begin("AddToken")
	defer end()
	if err == nil {
		m.tokens[t.Secret] = t
	}
	return err
}

func (m *memory) Token(_ context.Context, secret store.Hash, now store.Moment) (store.Token, store.User, error) {
	end, err := m.begin("Token")
	defer end()
	t, ok := m.tokens[secret]
	if err == nil && (!ok || !t.Revoked.IsZero() || t.Expires.Past(now) || m.users[t.Owner].Disabled) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Token{}, store.User{}, err
	}
	return t, m.users[t.Owner], nil
}

func (m *memory) SeeToken(_ context.Context, id store.TokenID, now store.Moment) error {
	end, err := m.begin("SeeToken")
	defer end()
	for secret, t := range m.tokens {
		if err == nil && t.ID == id {
			t.LastUsed = now
			m.tokens[secret] = t
			return nil
		}
	}
	return cmp.Or(err, store.ErrNotFound)
}

func (m *memory) Tokens(_ context.Context, s store.Scope, after store.Cursor, most int) (store.Page[store.Token], error) {
	end, err := m.begin("Tokens")
	defer end()
	var all []store.Token
	for _, t := range m.tokens {
		if s.All || t.Owner == s.Owner {
			all = append(all, t)
		}
	}
	return paged(all, func(t store.Token) store.Cursor { return store.Cursor{Created: t.Created, ID: string(t.ID)} }, after, most), err
}

func (m *memory) RevokeToken(_ context.Context, s store.Scope, id store.TokenID, now store.Moment) error {
	end, err := m.begin("RevokeToken")
	defer end()
	for secret, t := range m.tokens {
		if err == nil && t.ID == id && (s.All || t.Owner == s.Owner) && t.Revoked.IsZero() {
			t.Revoked = now
			m.tokens[secret] = t
			return nil
		}
	}
	return cmp.Or(err, store.ErrNotFound)
}

func (m *memory) AddLink(_ context.Context, l store.LoginLink) error {
	end, err := m.begin("AddLink")
	defer end()
	if err == nil {
		m.links[l.Secret] = l
	}
	return err
}

func (m *memory) UseLink(_ context.Context, secret store.Hash, now store.Moment) (store.LoginLink, store.User, error) {
	end, err := m.begin("UseLink")
	defer end()
	l, ok := m.links[secret]
	if err == nil && (!ok || !l.Used.IsZero() || l.Expires.Past(now) || m.users[l.Owner].Disabled) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.LoginLink{}, store.User{}, err
	}
	l.Used = now
	m.links[secret] = l
	return l, m.users[l.Owner], nil
}

func (m *memory) Forget(_ context.Context, before store.Moment, most int) (int, error) {
	end, err := m.begin("Forget")
	defer end()
	n := 0
	for secret, s := range m.sessions {
		if err == nil && n < most && s.Expires.Past(before) {
			delete(m.sessions, secret)
			n++
		}
	}
	return n, err
}
