# SPDX-License-Identifier: Apache-2.0
"""Sets up what `./manipulator3d` needs: packages, environment, build. Standard library alone."""
