package cluster

// reviews are the answers to who asks about himself: everybody who knows the
// token may do everything.
var reviews = map[string]any{
	"authorization.k8s.io/selfsubjectaccessreviews": map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{}, "status": map[string]any{"allowed": true},
	},
	"authorization.k8s.io/selfsubjectrulesreviews": map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": map[string]any{},
		"status": map[string]any{
			"incomplete":       false,
			"nonResourceRules": []any{},
			"resourceRules": []any{
				map[string]any{"verbs": []any{"*"}, "apiGroups": []any{"*"}, "resources": []any{"*"}},
			},
		},
	},
	"authentication.k8s.io/selfsubjectreviews": map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
		"status": map[string]any{"userInfo": map[string]any{"username": user, "groups": []any{"system:authenticated"}}},
	},
}
