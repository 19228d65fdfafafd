package prepare

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// prepareService drops the addresses, and the node ports that nobody set explicitly (service_action.go, Execute and
// deleteNodePorts).
func (r *Rules) prepareService(o *unstructured.Unstructured, c *Change) {
	if nestedString(o, "spec", "clusterIP") != "None" {
		removeField(o, "spec", "clusterIP")
		removeField(o, "spec", "clusterIPs")
	}
	if keep := r.Restore.PreserveNodePorts; keep != nil && *keep || nestedString(o, "spec", "type") == "ExternalName" {
		return
	}
	chosen, health, applied := chosenPorts(o)
	for _, port := range objectsAt(o.Object, "spec", "ports") {
		key := fmt.Sprintf(`k:{"port":%v,"protocol":"%v"}`, port["port"], port["protocol"])
		if applied {
			if key, _ = port["name"].(string); key == "" {
				key = fmt.Sprint(port["nodePort"])
			}
		}
		if !chosen[key] {
			delete(port, "nodePort")
		}
	}
	if nestedString(o, "spec", "externalTrafficPolicy") == "Local" && nestedString(o, "spec", "type") == "LoadBalancer" &&
		!health {
		removeField(o, "spec", "healthCheckNodePort")
	}
}

// chosenPorts returns the ports whose node port somebody set explicitly, and whether somebody set that of the health
// check. If applied is true, kubectl apply recorded its input, and the ports are identified by name, or by number if
// they have none; otherwise by their key in managedFields (service_action.go, deleteNodePorts and
// deleteHealthCheckNodePort).
func chosenPorts(o *unstructured.Unstructured) (chosen map[string]bool, health, applied bool) {
	chosen = map[string]bool{}
	text, applied := o.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]
	config := map[string]any{}
	_ = json.Unmarshal([]byte(text), &config)
	for _, port := range objectsAt(config, "spec", "ports") {
		number, _ := strconv.ParseFloat(fmt.Sprint(port["nodePort"]), 64) // may be a string
		name, named := port["name"].(string)
		if !named {
			name = strconv.Itoa(int(number))
		}
		chosen[name] = chosen[name] || number > 0
	}
	number, _, _ := unstructured.NestedFloat64(config, "spec", "healthCheckNodePort")
	health = number != 0
	for _, entry := range objectsAt(o.Object, "metadata", "managedFields") {
		fields, _, _ := unstructured.NestedMap(entry, "fieldsV1", "f:spec")
		health = health || fields["f:healthCheckNodePort"] != nil
		ports, _ := fields["f:ports"].(map[string]any)
		for key, port := range ports {
			port, _ := port.(map[string]any)
			chosen[key] = chosen[key] || port["f:nodePort"] != nil
		}
	}
	return chosen, health, applied
}
