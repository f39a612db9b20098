/** Where the two endpoints put what the model says; all else of their replies is the same. */
export interface Shape {
  text(text: string): string;
  thinking(text: string): string;
  /** Undefined where no tools can be called. */
  calls?(calls: string): string;
  whole(reply: WholeText): object;
}

export interface WholeText {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly object[];
}

const quote = (text: string): string => JSON.stringify(text);

export const chatShape: Shape = {
  text: (text) => `"message":{"role":"assistant","content":${quote(text)}}`,
  thinking: (text) => `"message":{"role":"assistant","content":"","thinking":${quote(text)}}`,
  calls: (calls) => `"message":{"role":"assistant","content":"","tool_calls":${calls}}`,
  whole: ({ text, thinking, calls }) => ({
    message: {
      role: 'assistant',
      content: text,
      ...(thinking === '' ? {} : { thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  }),
};

export const completionShape: Shape = {
  text: (text) => `"response":${quote(text)}`,
  thinking: (text) => `"response":"","thinking":${quote(text)}`,
  whole: ({ text, thinking }) => ({ response: text, ...(thinking === '' ? {} : { thinking }) }),
};
