"""What a run leaves to `make test-all`, and how it compiles a program once where many fits need it."""

import gc
import os
import shutil

import pytest

# Tests that spend most of their time compiling networks, or repeat for a further network what a small one has shown.

LONG = (
    "test_replay.py::test_replay_on_neighbours_shows_the_same_bytes[hflow-paper",
    "test_replay.py::test_replay_on_neighbours_shows_the_same_bytes[hflow-public-clipping",
    "test_replay.py::test_certificate_is_complete_and_public[hflow",
    "test_replay.py::test_a_seeded_run_promises_nothing[hflow",
    "privacy_contract/test_ppem.py::test_pairs_together_give_the_gradient_of_the_batch",
    "privacy_contract/test_teach.py::test_nacre_passes[ledger]",
    "privacy_contract/test_teach.py::test_twin_is_caught[parts_from_the_public_seed]",
    "privacy_contract/test_learning.py::test_twin_is_caught[a_start_from_the_rows]",
    *(f"test_lessons_that_cannot_be_given_safely_are_refused_before_a_row_is_read[change{i}" for i in range(1, 9)),
    "privacy/test_teach.py::test_compiled_and_recorded_steps_are_the_same",
    "synthesizers/test_ppem.py::test_five_seeds_trained_together_equal_seeds_trained_alone_and_stay_finite",
    "synthesizers/test_private_gans.py::test_fit_sample_save_load[gswgan]",
    "synthesizers/test_private_gans.py::test_fit_sample_save_load[pategan]",
    "synthesizers/test_private_gans.py::test_without_epsilon_nothing_is_promised[pategan]",
    "synthesizers/test_private_gans.py::test_the_generated_half_is_clipped_like_rows_and_needs_none",
    "evaluation/test_images.py::test_accuracy_of_training_on_other_images",
    "synthesizers/test_particles.py::test_loss_and_gradient_equal_brute_force[3]",
    "synthesizers/test_particles.py::test_loss_and_gradient_equal_brute_force[1]",
    "nets/test_taps.py::test_taps_equal_vmap_of_grad[shared]",
    "nets/test_taps.py::test_taps_equal_vmap_of_grad[triangular]",
    "nets/test_sylvester.py::test_log_determinant_is_that_of_the_jacobian[12-sylvester-12]",
    "nets/test_flow.py::test_log_det_is_that_of_the_jacobian[rank 2, tanh]",
    "synthesizers/test_pearl_images.py::test_digits_are_learnt",
    "synthesizers/test_private_gans.py::test_fit_sample_save_load[dpgan]",
    "synthesizers/test_private_gans.py::test_the_generator_follows_the_gradients_of_a_critic",
    "synthesizers/test_gans.py::test_fit_sample_save_load[ebgan]",
    "synthesizers/test_gans.py::test_fit_sample_save_load[medgan]",
    "synthesizers/test_weighted.py::test_other_kinds_fit[{'loss': 'ce', 'scheme': 'id'}]",
    "synthesizers/test_weighted.py::test_the_gradient_of_the_median_is_that_of_the_chosen_groups[4]",
    "synthesizers/test_reconstruction.py::test_the_choice_follows_the_data",
    "synthesizers/test_ppem.py::test_norms_over_batches_are_those_of_generated_rows",
    "synthesizers/test_ppem.py::test_the_effect_penalises_a_generator_that_is_too_near",
    "learners/test_logistic.py::test_flow_is_labelled_and_counts_its_releases",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(long in item.nodeid for long in LONG):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish(session):
    """Modules and the tests themselves live until the end: looking through them for garbage again and again is time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


WORTH_KEEPING_S = 0.1  # seconds of compiling
MOST_KEPT = 2**30  # bytes of compiled programs, beyond which a run begins with none


def pytest_configure(config):
    """Compiled programs are shared by the workers of a run and kept for the next one: a program is found by its whole
    text and the flags of the compiler. The settings are read when jax is imported."""
    if hasattr(config, "workerinput"):
        return
    kept = config.rootpath / "build" / "programs"
    if kept.exists() and sum(file.stat().st_size for file in kept.iterdir()) > MOST_KEPT:
        shutil.rmtree(kept)
    kept.mkdir(parents=True, exist_ok=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(kept)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = str(WORTH_KEEPING_S)


@pytest.fixture(autouse=True, scope="session")
def programs_are_kept():
    """nacre keeps no program on disk that saw private rows; the rows of tests are made up, so theirs may be kept."""
    from nacre.privacy.training import unit_arrays

    unit_arrays.NEVER = WORTH_KEEPING_S
