/**
 * Short messages from one member to another. A mailbox is lossy: a message may get lost before it is taken, and a
 * mailbox may drop messages that are older than a minute. A sender that depends on a message posts it again.
 */
export interface StoreMail {
  /** Puts messages into the mailboxes of their members, in order, and wakes these members. */
  post(messages: readonly MailMessage[]): Promise<void>
  /**
   * Takes messages out of the mailbox of a member: at most `limit`, the oldest first. No message is taken twice. If the
   * answer is lost, so are the messages.
   */
  takeMail(member: string, limit: number): Promise<readonly string[]>
  /** Calls `listener` when a member has new mail, until the function that it answers is called. Calls may get lost. */
  onMail(listener: (member: string) => void): () => void
}

/** A message to a member. */
export interface MailMessage {
  /** The id of the member that gets it. */
  readonly member: string
  /** A string that the store does not interpret. */
  readonly text: string
}
