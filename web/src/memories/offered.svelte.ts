/** Facts that the model found in a chat, until the person has looked at them. Loaded with the chat, unlike what finds them. */
export const offered = $state<{ chatId: string; facts: readonly string[]; open: boolean }>({
  chatId: '',
  facts: [],
  open: false,
});
