package cluster

// reviewResponses are the answers to self-reviews: everybody with the token may do everything.
var reviewResponses = map[string]any{
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
		"status": map[string]any{"userInfo": map[string]any{"username": userName, "groups": []any{"system:authenticated"}}},
	},
}
