package action

// draft is the plan, or the refusal, of finalizing.
func draft(e Evidence, r Request) Plan {
	p, _ := PlanFor(Finalize, e, r)
	return p
}

// remedies are all other plans.
func remedies(e Evidence, r Request) []Plan { return BuildPlans(e, r)[1:] }

// planOf is the plan of that action, the zero Plan if there is none.
func planOf(action Kind, plans []Plan) Plan {
	for _, p := range plans {
		if p.Action == action {
			return p
		}
	}
	return Plan{}
}
