"""``--nodes`` of cluster-autoscaler: each cloud provider has a form of its own, or reads no such flag.

Upstream: cluster-autoscaler/cloudprovider, and config/dynamic for the usual form, ``min:max:name``, whose name may have
colons in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kwhatif.golang.parsing import parse_int

USUAL: Final = "min:max:name"


class NodesForm(msgspec.Struct, frozen=True):
    """What the parts of the flag are, in their order; empty where the provider reads none. The last one is the rest.

    ``source`` is the file of upstream that reads it, in cluster-autoscaler/cloudprovider.
    """

    parts: str
    source: str


_USUAL_FORM = NodesForm(USUAL, "gce/gce_manager.go")

NODES_FORMS: Mapping[str, NodesForm] = {
    "alicloud": NodesForm(USUAL, "alicloud/alicloud_cloud_provider.go"),
    "aws": NodesForm(USUAL, "aws/auto_scaling_groups.go"),
    "azure": NodesForm(USUAL, "azure/azure_manager.go"),
    "baiducloud": NodesForm(USUAL, "baiducloud/baiducloud_cloud_provider.go"),
    "bizflycloud": NodesForm("", "bizflycloud/bizflycloud_cloud_provider.go"),
    "brightbox": NodesForm("", "brightbox/brightbox_cloud_provider.go"),
    "cherryservers": NodesForm(USUAL, "cherryservers/cherry_cloud_provider.go"),
    "civo": NodesForm(USUAL, "civo/civo_manager.go"),
    "cloudstack": NodesForm(USUAL, "cloudstack/cloudstack_cloud_provider.go"),
    "clusterapi": NodesForm("", "clusterapi/clusterapi_provider.go"),
    "coreweave": NodesForm("", "coreweave/coreweave_provider.go"),
    "digitalocean": NodesForm("", "digitalocean/digitalocean_cloud_provider.go"),
    "equinixmetal": NodesForm(USUAL, "equinixmetal/cloud_provider.go"),
    "exoscale": NodesForm(USUAL, "exoscale/exoscale_cloud_provider.go"),
    "externalgrpc": NodesForm("", "externalgrpc/externalgrpc_cloud_provider.go"),
    "gce": _USUAL_FORM,
    "hetzner": NodesForm("min:max:type:region:name", "hetzner/hetzner_cloud_provider.go"),
    "huaweicloud": NodesForm(USUAL, "huaweicloud/huaweicloud_cloud_provider.go"),
    "ionoscloud": NodesForm(USUAL, "ionoscloud/ionoscloud_manager.go"),
    "kamatera": NodesForm("", "kamatera/kamatera_cloud_config.go"),
    "linode": NodesForm("", "linode/linode_cloud_config.go"),
    "magnum": NodesForm(USUAL, "magnum/magnum_cloud_provider.go"),
    "oci": NodesForm(USUAL, "oci/instancepools/oci_instance_pool_manager.go"),
    "oci-oke": NodesForm(USUAL, "oci/nodepools/oci_manager.go"),
    "ovhcloud": NodesForm("", "ovhcloud/ovh_cloud_provider.go"),
    "packet": NodesForm(USUAL, "equinixmetal/cloud_provider.go"),
    "rancher": NodesForm("", "rancher/rancher_provider.go"),
    "scaleway": NodesForm("", "scaleway/scaleway_cloud_provider.go"),
    "tencentcloud": NodesForm(USUAL, "tencentcloud/tencentcloud_manager.go"),
    "utho": NodesForm("", "utho/utho_cloud_provider.go"),
    "volcengine": NodesForm(USUAL, "volcengine/volcengine_cloud_provider.go"),
    "vultr": NodesForm("", "vultr/vultr_cloud_provider.go"),
}
"""By ``--cloud-provider``. Of others, and where the flag is not there, the form is the usual one."""


class SizedGroup(msgspec.Struct, frozen=True):
    """A group of a flag."""

    name: str
    least: int
    most: int


def parse_node_flags(words: Sequence[tuple[str, str]]) -> Iterator[SizedGroup]:
    """The groups of all ``--nodes`` among flags with their values; those that cannot be read are left out."""
    parts = form_of(words).parts.split(":")
    for value in node_flags(words):
        fields = dict(zip(parts, value.split(":", len(parts) - 1), strict=False))
        least, most = parse_int(fields.get("min", "")), parse_int(fields.get("max", ""))
        if least is not None and most is not None and fields.get("name"):
            yield SizedGroup(fields["name"], least, most)


def unread_node_flags(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What is wrong with each ``--nodes`` that is not read, in words."""
    form, provider = form_of(words), _provider_in(words)
    for value in node_flags(words):
        if not form.parts:
            yield f"--nodes={value} decides nothing: {provider} has its groups from elsewhere"
        elif not list(parse_node_flags([("cloud-provider", provider), ("nodes", value)])):
            yield f"--nodes={value} cannot be read: expected {form.parts}"


def node_flags(words: Sequence[tuple[str, str]]) -> list[str]:
    """The values of ``--nodes``."""
    return [value for flag, value in words if flag == "nodes"]


def form_of(words: Sequence[tuple[str, str]]) -> NodesForm:
    """The form that the provider among the flags reads."""
    return NODES_FORMS.get(_provider_in(words), _USUAL_FORM)


def _provider_in(words: Sequence[tuple[str, str]]) -> str:
    return next((value for flag, value in reversed(words) if flag == "cloud-provider"), "")
