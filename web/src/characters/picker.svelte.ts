/** The dialog with all characters. */
export const picker = $state({ open: false });

/** To start a chat with one of them; from anywhere. */
export function openCharacters(): void {
  picker.open = true;
}
