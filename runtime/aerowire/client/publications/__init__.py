"""Publications: offers, claims, reserved values and blocking sends.  Reading is in `subscriptions`."""
