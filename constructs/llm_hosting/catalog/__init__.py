"""Facts about engines, models, instances and regions: data files with source and date, read through typed functions."""
