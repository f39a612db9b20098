import { translatable } from '../languages/index.ts';

/** Sentences and labels of the frame of the chat page and of its first visit. */
export const texts = translatable('chatPage', {
  title: (chat: string) => (chat === '' ? 'Parley' : `${chat} · Parley`),
  settings: 'Chat settings',
  collect: 'Keep documents as collection',
  remember: 'Remember from this chat',
  compare: 'Compare models',
  prompt: 'Show prompt',
  connect: 'Connect an app',
  device: 'Connect a device',
  shortcuts: 'Keyboard shortcuts',
  delete: 'Delete chat',
  effort: 'Reasoning effort',
  first: {
    heading: 'How can I help?',
    question: 'Hello! What can you do?',
    ask: 'Ask',
    quoted: (question: string) => `“${question}”`,
    character: 'Play',
    characterText: 'Chat with a character, or open a card',
    write: 'Write',
    writeText: 'Start a story and continue it together',
    draw: 'Draw',
    drawText: 'Create an image from a prompt',
    connect: 'Connect an app',
    device: 'Connect a device',
  },
});
