# SPDX-License-Identifier: Apache-2.0
"""What every node of the project shares: declared parameters, error codes, start and end of the process."""
