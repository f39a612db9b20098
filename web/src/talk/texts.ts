import { translatable } from '../languages/index.ts';

/** Sentences and labels of spoken conversations. */
export const texts = translatable('talk', {
  talk: 'Talk',
  label: 'Spoken conversation',
  states: {
    connecting: 'Connecting …',
    listening: 'Listening',
    hearing: 'I hear you …',
    thinking: 'Thinking …',
    speaking: 'Speaking',
    muted: 'Microphone off',
    ended: 'Ended',
  },
  hints: {
    listening: 'Say something.',
    speaking: 'Speak to interrupt.',
    muted: 'Switch it on to continue.',
    deaf: 'The microphone is off.',
    paused: 'The system has paused the microphone. Unlock the screen or return to this page to go on.',
  },
  mute: 'Switch the microphone off',
  unmute: 'Switch the microphone on',
  interrupt: 'Stop the answer',
  end: 'End the conversation',
  retry: 'Try again',
  noEars: 'This server has no speech-to-text model. Start it with --whispermodel FILE.',
  noVoice: 'This server has no voice. Start it with --ttsmodel FILE.',
  noModel: 'No text model is loaded. Load one first.',
  refused: 'The server refused the connection. Check the password, and whether the server is running.',
  lost: 'The connection to the server was lost.',
  asleep:
    'The system has ended the connection while the page was in the background. The conversation goes on when you return.',
  stopped: 'The server is stopping.',
  failed: 'Something went wrong. Try again.',
});

/** For the model. Follows the system prompt of the chat. */
export const instructions =
  'You are talking with the user by voice. Answer in short spoken sentences, without lists, tables or formatting.';
