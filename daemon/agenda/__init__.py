"""What is due in this house: alarms and schedule entries, with what people changed about them at run time."""
