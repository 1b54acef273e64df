// Command empty does nothing: what it takes is what Go takes.
package main

func main() {}
