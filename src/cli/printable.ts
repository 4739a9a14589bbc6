// oxlint-disable-next-line no-control-regex -- these are the characters to replace
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * A text without characters that steer a terminal: names and payloads come from callers, who could hide or forge lines
 * with them. Tabs and line ends stay.
 */
export function printable(text: string): string {
  return text.replace(control, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
