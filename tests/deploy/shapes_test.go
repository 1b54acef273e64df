//go:build linux

package deploy_test

import "paddock/internal/policy/compiled/document/shape"

// The keys of Kubernetes and Compose that our files use. One that isn't here is a
// mistake, or to be added.

func text() shape.Shape { return shape.Text{Say: "a word", Loose: true} }

func words() shape.Shape { return shape.List{Of: text()} }

func free(of shape.Shape) shape.Shape {
	return shape.Map{Name: shape.Text{Say: "a name", Loose: true}, Of: of}
}

func boolean() shape.Shape { return shape.Boolean{} }

func count() shape.Shape { return shape.Integer{Min: 0, Max: 1 << 31} }

// object is a mapping with these keys: name, shape, name, shape …
func object(pairs ...any) shape.Object {
	var o shape.Object
	for i := 0; i < len(pairs); i += 2 {
		o.Keys = append(o.Keys, shape.Key{Name: pairs[i].(string), Shape: pairs[i+1].(shape.Shape)})
	}
	return o
}

func metadata() shape.Shape {
	return object("name", text(), "namespace", text(), "labels", free(text()))
}

// kind is an object of Kubernetes with further keys.
func kind(pairs ...any) shape.Object {
	return object(append([]any{"apiVersion", text(), "kind", text(), "metadata", metadata()}, pairs...)...)
}

func configMap() shape.Shape { return kind("data", free(text())) }

func service() shape.Shape {
	port := object("name", text(), "port", count(), "targetPort", text())
	return kind("spec", object("selector", free(text()), "ports", shape.List{Of: port}))
}

func networkPolicy() shape.Shape {
	selector := object("matchLabels", free(text()))
	port := object("protocol", shape.Choice{"TCP", "UDP"}, "port", count())
	rule := object("from", shape.List{Of: object("namespaceSelector", selector, "podSelector", selector)}, "ports", shape.List{Of: port})
	return kind("spec", object("podSelector", selector, "policyTypes", shape.List{Of: shape.Choice{"Ingress", "Egress"}}, "ingress", shape.List{Of: rule}, "egress", shape.List{Of: rule}))
}

func security() shape.Shape {
	return object(
		"runAsUser", count(), "runAsGroup", count(), "runAsNonRoot", boolean(), "allowPrivilegeEscalation", boolean(), "readOnlyRootFilesystem", boolean(),
		"seccompProfile", object("type", shape.Choice{"RuntimeDefault"}), "capabilities", object("drop", words(), "add", words()),
	)
}

func container() shape.Shape {
	probe := object(
		"httpGet", object("path", text(), "port", text(), "httpHeaders", shape.List{Of: object("name", text(), "value", text())}),
		"periodSeconds", count(), "timeoutSeconds", count(),
	)
	return object(
		"name", text(), "image", text(), "command", words(), "args", words(), "ports", shape.List{Of: object("name", text(), "containerPort", count())},
		"securityContext", security(), "livenessProbe", probe, "readinessProbe", probe, "resources", object("requests", free(text()), "limits", free(text())),
		"volumeMounts", shape.List{Of: object("name", text(), "mountPath", text(), "subPath", text(), "readOnly", boolean())},
	)
}

func statefulSet() shape.Shape {
	selector := object("matchLabels", free(text()))
	volume := object(
		"name", text(), "emptyDir", object("medium", text(), "sizeLimit", text()), "configMap", object("name", text()),
		"secret", object("secretName", text(), "defaultMode", count()),
	)
	pod := object(
		"automountServiceAccountToken", boolean(), "enableServiceLinks", boolean(), "terminationGracePeriodSeconds", count(), "securityContext", security(),
		"initContainers", shape.List{Of: container()}, "containers", shape.List{Of: container()}, "volumes", shape.List{Of: volume},
	)
	claim := object("metadata", metadata(), "spec", object("accessModes", words(), "resources", object("requests", free(text()))))
	return kind("spec", object(
		"serviceName", text(), "replicas", count(), "podManagementPolicy", shape.Choice{"Parallel"}, "selector", selector,
		"template", object("metadata", metadata(), "spec", pod), "volumeClaimTemplates", shape.List{Of: claim},
	))
}

func composeFile() shape.Shape {
	one := object(
		"build", object("context", text(), "dockerfile", text()), "image", text(), "restart", text(), "init", boolean(), "network_mode", text(),
		"depends_on", free(object("condition", text())), "environment", free(text()), "secrets", words(), "volumes", words(), "cap_drop", words(), "security_opt", words(),
		"stop_grace_period", text(), "healthcheck", object("test", words(), "interval", text(), "retries", count(), "start_period", text()),
	)
	return object("name", text(), "services", free(one), "secrets", free(object("file", text())), "volumes", free(object()))
}
