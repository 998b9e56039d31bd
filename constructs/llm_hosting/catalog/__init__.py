"""Facts about engines, images, instances and regions: data files with source and date, read through typed functions."""
