import { translatable } from '../../languages/index.ts';

/** Sentences and labels of slash commands. Their names are not translated. */
export const texts = translatable('commands', {
  list: 'Commands',
  commands: {
    retry: 'Another reply',
    continue: 'Continue the last reply',
    impersonate: 'Let the model write your message',
    image: 'Draw an image',
    system: 'Change the system prompt of this chat',
    compare: 'Compare models or presets',
    search: 'Search the web for one message',
    summarize: 'Summarize the chat',
    new: 'New chat',
    model: 'Use another model',
  },
  arguments: { prompt: 'prompt', message: 'message', name: 'name' },
  models: 'Models',
  unavailable: (command: string) => `/${command} is not available here.`,
  busy: 'A reply is running. Wait for its end, or stop it.',
  noReply: 'There is no reply yet.',
  noModel: (name: string) => `No model is called “${name}”.`,
  noText: (command: string) => `Write a text after /${command}.`,
  systemSet: 'The system prompt of this chat has changed.',
  systemRemoved: 'This chat has the system prompt of the settings again.',
});
