/** Sent to the model around the cards, in English whatever the language of the page. Macros are resolved with the rest of the prompt. */
export const prompts = {
  main: "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}.",
  groupMain: "Write {{char}}'s next reply in a fictional group chat between {{group}} and {{user}}.",
  personality: (text: string) => `{{char}}'s personality: ${text}`,
  scenario: (text: string) => `Scenario: ${text}`,
  summary: (text: string) => `Summary of what happened before:\n${text}`,
  examples: (text: string) => `Example dialogue:\n${text}`,
  onlyAs: '[Write the next reply only as {{char}}.]',
  begin: '[Start of the chat]',
  picture: (text: string) => `(A picture: ${text})`,
  impersonate:
    "[Write {{user}}'s next message in this chat, from {{user}}'s point of view, as {{user}} wrote before. Write nothing as {{char}}.]",
  scene:
    '[Pause the chat. Describe what is visible in the scene right now as a prompt for an image generator: a comma-separated list of key words for the people, their looks and clothes, the place, the light and the mood. Write only the list.]',
  summarize: (words: number) =>
    `[Pause the chat. Summarize the most important facts and events so far in at most ${words} words. If there is already a summary, start from it and add what happened since. Write only the summary.]`,
} as const;
