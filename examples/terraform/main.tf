# Deploys the portable template by service-managed stack sets in Terraform: a canary, then the rest.
#
# It needs trusted access and a delegated administrator (docs/fleet.md), whose credentials Terraform uses and who may call
# organizations:ListDelegatedAdministrators; and a bucket in any region that this administrator may read.
#
#   slipway render qwen3-4b/prod -o examples/terraform
#   slipway render slipway-account-settings -o examples/terraform
#   terraform init && terraform apply -var bucket=BUCKET -var canary_unit=ou-... -var 'units=["ou-..."]'
#
# Unlike `npx cdk deploy -c fleet=...`, Terraform creates the instances of all regions at once, each region by its own
# operation (`for_each` has no order), and nothing rolls the canary back. A change of the template or of a parameter
# (UpdateStackSet) runs over the regions in `region_order`.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

variable "name" {
  description = "Name of the rendered deployment and of its stack set."
  type        = string
  default     = "qwen3-4b-prod"
}

variable "bucket" {
  description = "Bucket for the templates, which are larger than the 51,200 bytes that a request takes."
  type        = string
}

variable "canary_unit" {
  description = "Organizational unit that gets each change first."
  type        = string
}

variable "units" {
  description = "Organizational units of the fleet, except the canary's."
  type        = set(string)
}

variable "regions" {
  description = "Regions in the order in which an update reaches them."
  type        = list(string)
  default     = ["us-east-1", "eu-west-1"]
}

variable "parameters" {
  description = "Values of the template's parameters. DeployEndpoint = true bills for the instances of every target."
  type        = map(string)
  default     = { DeployEndpoint = "false", ApiAccessLogs = "true" }
}

locals {
  # The provider needs a value for every parameter of the template, even for one with a default.
  defaults = {
    for key, parameter in yamldecode(file(local.templates.service)).Parameters :
    key => tostring(parameter.Default) if can(parameter.Default)
  }
  rendered = {
    for each in jsondecode(file("${path.module}/${var.name}.parameters.json")) : each.ParameterKey => each.ParameterValue
  }
  parameters = merge(local.defaults, local.rendered, var.parameters)
  templates = {
    service  = "${path.module}/${var.name}.template.yaml"
    settings = "${path.module}/slipway-account-settings.template.yaml"
  }
}

resource "aws_s3_object" "template" {
  for_each = local.templates

  bucket = var.bucket
  # The hash of the content gives a changed template another URL, which makes the set update.
  key    = "slipway/${filesha256(each.value)}.template.yaml"
  source = each.value
}

resource "aws_cloudformation_stack_set" "settings" {
  name             = "slipway-account-settings"
  permission_model = "SERVICE_MANAGED"
  call_as          = "DELEGATED_ADMIN"
  template_url     = "https://${var.bucket}.s3.amazonaws.com/${aws_s3_object.template["settings"].key}"
  capabilities     = ["CAPABILITY_IAM"]

  auto_deployment {
    enabled                          = true
    retain_stacks_on_account_removal = true
  }
  lifecycle {
    ignore_changes = [administration_role_arn] # the API returns one for service-managed sets, too
  }
}

resource "aws_cloudformation_stack_set_instance" "settings" {
  for_each = toset(var.regions)

  stack_set_name            = aws_cloudformation_stack_set.settings.name
  call_as                   = "DELEGATED_ADMIN"
  stack_set_instance_region = each.value
  deployment_targets {
    organizational_unit_ids = concat([var.canary_unit], tolist(var.units))
  }
}

resource "aws_cloudformation_stack_set" "canary" {
  name             = "${var.name}-canary"
  permission_model = "SERVICE_MANAGED"
  call_as          = "DELEGATED_ADMIN"
  template_url     = "https://${var.bucket}.s3.amazonaws.com/${aws_s3_object.template["service"].key}"
  capabilities     = ["CAPABILITY_IAM"]
  parameters       = local.parameters

  auto_deployment {
    enabled                          = true
    retain_stacks_on_account_removal = false
  }
  operation_preferences {
    failure_tolerance_count = 0
    max_concurrent_count    = 1
    region_order            = var.regions
  }
  lifecycle {
    ignore_changes = [administration_role_arn]
  }
  timeouts {
    update = "6h"
  }
  depends_on = [aws_cloudformation_stack_set_instance.settings]
}

resource "aws_cloudformation_stack_set_instance" "canary" {
  stack_set_name            = aws_cloudformation_stack_set.canary.name
  call_as                   = "DELEGATED_ADMIN"
  stack_set_instance_region = var.regions[0]
  deployment_targets {
    organizational_unit_ids = [var.canary_unit]
  }
  timeouts {
    create = "6h"
    update = "6h"
    delete = "6h"
  }
}

resource "aws_cloudformation_stack_set" "fleet" {
  name             = var.name
  permission_model = "SERVICE_MANAGED"
  call_as          = "DELEGATED_ADMIN"
  template_url     = "https://${var.bucket}.s3.amazonaws.com/${aws_s3_object.template["service"].key}"
  capabilities     = ["CAPABILITY_IAM"]
  parameters       = local.parameters

  auto_deployment {
    enabled                          = true
    retain_stacks_on_account_removal = false
  }
  managed_execution {
    active = true
  }
  operation_preferences {
    failure_tolerance_count   = 0
    max_concurrent_percentage = 25
    concurrency_mode          = "SOFT_FAILURE_TOLERANCE" # if no account may fail, strict means one account at a time
    region_concurrency_type   = "SEQUENTIAL"
    region_order              = var.regions
  }
  lifecycle {
    ignore_changes = [administration_role_arn]
  }
  timeouts {
    update = "24h"
  }
  depends_on = [aws_cloudformation_stack_set_instance.canary]
}

resource "aws_cloudformation_stack_set_instance" "fleet" {
  for_each = toset(var.regions)

  stack_set_name            = aws_cloudformation_stack_set.fleet.name
  call_as                   = "DELEGATED_ADMIN"
  stack_set_instance_region = each.value
  deployment_targets {
    organizational_unit_ids = tolist(var.units)
  }
  operation_preferences {
    failure_tolerance_count   = 0
    max_concurrent_percentage = 25
    concurrency_mode          = "SOFT_FAILURE_TOLERANCE"
  }
  timeouts {
    create = "24h"
    update = "24h"
    delete = "24h"
  }
}
