/** The dialog with all characters; it can be opened from anywhere. */
export const picker = $state({ open: false });
