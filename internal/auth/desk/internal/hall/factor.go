package hall

import (
	"context"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/store"
)

// MayAddFactor refuses who mustn't give himself a factor now: a session alone isn't
// enough, since it may be stolen. Who has a factor must have shown it lately; else who
// has a password must show that; else he must have logged in lately.
func (h *Hall) MayAddFactor(ctx context.Context, who auth.Who, from From, password string) error {
	if err := who.May(auth.FactorsChange, auth.Mine); err != nil {
		return err
	}
	if who.Session == "" {
		return paddock.Refused(paddock.Forbidden, "A factor is added by who is logged in.")
	}
	user, err := h.Store.User(ctx, who.User)
	if err != nil {
		return Refusal(err, "user")
	}
	factors, err := h.Store.Factors(ctx, who.User)
	if err != nil {
		return err
	}
	switch {
	case len(factors) > 0:
		if !who.Fresh() {
			return paddock.Refused(paddock.SecondFactorRequired, "Show one of the factors that you have before another one is added.")
		}
		return nil
	case user.Password == "":
		if who.Age() > h.Fresh {
			return Unproven("The login is too long ago for this. Log in again.")
		}
		return nil
	}
	if err := h.Try(from, who.Name); err != nil {
		return err
	}
	ok, _, err := h.Matches(ctx, user.Password, password)
	if err != nil {
		return err
	}
	if !ok {
		return Unproven("The present password is wrong.")
	}
	h.Forgive(from, who.Name)
	return nil
}

// AddFactor keeps a factor, if its owner hasn't as many as are kept.
func (h *Hall) AddFactor(ctx context.Context, who auth.Who, from From, f store.Factor, most int) error {
	has, err := h.Store.Factors(ctx, who.User)
	if err != nil {
		return err
	}
	if len(has) >= most {
		return paddock.Refused(paddock.Conflict, "There are %d factors already; take one away first.", len(has))
	}
	if err := h.Record(ctx, who, auth.Event{What: auth.FactorChanged, User: who.User, From: from.Address, Detail: "added " + f.Kind + " " + string(f.ID)}); err != nil {
		return err
	}
	return Refusal(h.Store.AddFactor(ctx, f), "factor")
}
