/** Tells the same thing once: clients that save by themselves try again and again while a disk is full. */
export function unlessRepeated(tell: (sentence: string) => void): (sentence: string) => void {
  let last = '';
  return (sentence) => {
    if (sentence !== last) tell(sentence);
    last = sentence;
  };
}
