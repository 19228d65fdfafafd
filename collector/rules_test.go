package collector

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

var appWeb = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
