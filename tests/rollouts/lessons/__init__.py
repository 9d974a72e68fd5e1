"""Rollouts as lessons: sessions of the stage, and the tasks of chapter 14."""
