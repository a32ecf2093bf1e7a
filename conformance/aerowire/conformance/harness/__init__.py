"""The suite's own tools: a small client of driver shared memory, UDP endpoints, clocks and frame builders."""
