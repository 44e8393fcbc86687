#!/usr/bin/env python3
"""Writes the levels of an algebraic multigrid hierarchy, for `matchpoint predict amg`.

Three-dimensional linear elasticity on tetrahedra (scikit-fem), coarsened by classical AMG (PyAMG's Ruge-Stueben solver),
as in section 5 of Bienz, Gropp and Olson, "Improving Performance Models for Irregular Point-to-Point Communication".

    python3 -m venv venv && venv/bin/pip install scikit-fem pyamg
    venv/bin/python examples/python/amg_levels.py levels --cells 20
    matchpoint predict amg levels --machine blue-waters --processes 512
"""

import argparse
import pathlib
import sys

try:
    import numpy
    import pyamg
    import scipy.io
    import skfem
    from skfem.models.elasticity import lame_parameters, linear_elasticity
except ImportError as error:
    sys.exit(
        f"amg_levels.py: {error}; it needs scikit-fem and pyamg, as in: python3 -m venv venv && venv/bin/pip install "
        f"scikit-fem pyamg && venv/bin/python {sys.argv[0]} levels"
    )

# Steel, in units for which the matrix's entries are about 1.
YOUNGS_MODULUS = 1.0
POISSONS_RATIO = 0.3


def elasticity(cells, is_distorted):
    """A cube of cells³ cubes, each of six tetrahedra, held at one side."""
    line = numpy.linspace(0.0, 1.0, cells + 1)
    mesh = skfem.MeshTet.init_tensor(line, line, line)
    if is_distorted:
        # Random offsets of inner nodes, at most a quarter of a cell, so that no two rows are equal.
        inner = numpy.setdiff1d(numpy.arange(mesh.p.shape[1]), mesh.boundary_nodes())
        points = mesh.p.copy()
        moves = numpy.random.default_rng(2018).uniform(-0.25, 0.25, (3, inner.size))
        points[:, inner] += moves / cells
        mesh = skfem.MeshTet(points, mesh.t)
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()))
    stiffness = linear_elasticity(*lame_parameters(YOUNGS_MODULUS, POISSONS_RATIO)).assemble(basis)
    held = basis.get_dofs(lambda x: numpy.isclose(x[0], 0.0))
    return skfem.condense(stiffness, D=held, expand=False)


def write(folder, name, matrix, field):
    """One Matrix Market file; zero entries are omitted, because no rank sends them."""
    matrix = matrix.tocsr()
    matrix.eliminate_zeros()
    scipy.io.mmwrite(folder / f"{name}.mtx", matrix.tocoo(), field=field, precision=6, symmetry="general")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the files go")
    parser.add_argument("--cells", type=int, default=12, help="cells along an edge (default 12; rows: 3 (n+1)^3 or so)")
    parser.add_argument("--regular", action="store_true", help="leave the tetrahedra as they are")
    parser.add_argument("--max-coarse", type=int, default=50, help="rows at which coarsening ends (default 50)")
    parser.add_argument("--pattern", action="store_true", help="positions without values: all that predict reads")
    given = parser.parse_args()
    if given.cells < 2:
        parser.error("--cells: 2 at least")
    matrix = elasticity(given.cells, not given.regular).tocsr()
    hierarchy = pyamg.ruge_stuben_solver(matrix, max_coarse=given.max_coarse)
    given.folder.mkdir(parents=True, exist_ok=True)
    field = "pattern" if given.pattern else "real"
    for number, level in enumerate(hierarchy.levels):
        write(given.folder, f"A{number}", level.A, field)
        if number + 1 < len(hierarchy.levels):
            write(given.folder, f"P{number}", level.P, field)
        per_row = level.A.nnz / level.A.shape[0]
        print(f"level {number}: {level.A.shape[0]} rows, {level.A.nnz} entries, {per_row:.1f} a row")


if __name__ == "__main__":
    main()
