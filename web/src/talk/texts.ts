/** Sentences and labels of spoken conversations. */
export const texts = {
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
  stopped: 'The server is stopping.',
  failed: 'Something went wrong. Try again.',
  /** Follows the system prompt of the chat. */
  instructions:
    'You are talking with the user by voice. Answer in short spoken sentences, without lists, tables or formatting.',
} as const;
